// The part of samples/tictactoe/schema/tictactoe.fbs that these clients speak.
const text = (name) => ({ name, type: 'string', required: true });
const room = [text('room')];

export const tictactoe = {
  'tictactoe.Mark': { enum: 'byte', names: ['None', 'X', 'O'] },
  'tictactoe.Phase': { enum: 'byte', names: ['Waiting', 'Playing', 'Finished'] },
  'tictactoe.Outcome': { enum: 'byte', names: ['None', 'Win', 'Draw', 'Timeout', 'Forfeit'] },
  'tictactoe.Role': { enum: 'byte', names: ['Player', 'Spectator'] },
  'tictactoe.Login': { table: [text('name'), text('device_token')] },
  'tictactoe.LoginResult': { table: [text('name'), { name: 'is_resumed', type: 'bool' }] },
  'tictactoe.OpenRoom': { table: room },
  'tictactoe.JoinRoom': { table: room },
  'tictactoe.Entering': { table: [...room, { name: 'role', type: 'tictactoe.Role' }] },
  'tictactoe.Seat': {
    table: [
      text('name'),
      { name: 'is_connected', type: 'bool' },
      { name: 'wins', type: 'int' },
      { name: 'wants_rematch', type: 'bool' },
    ],
  },
  'tictactoe.GameState': {
    table: [
      ...room,
      { name: 'generation', type: 'ulong' },
      { name: 'revision', type: 'uint' },
      { name: 'round', type: 'int' },
      { name: 'phase', type: 'tictactoe.Phase' },
      { name: 'cells', type: '[tictactoe.Mark]' },
      { name: 'turn', type: 'tictactoe.Mark' },
      { name: 'turn_limit_ms', type: 'int' },
      { name: 'turn_left_ms', type: 'int' },
      { name: 'last_cell', type: 'int', default: -1 },
      { name: 'winning_cells', type: '[int]' },
      { name: 'outcome', type: 'tictactoe.Outcome' },
      { name: 'winner', type: 'tictactoe.Mark' },
      { name: 'x', type: 'tictactoe.Seat' },
      { name: 'o', type: 'tictactoe.Seat' },
      { name: 'draws', type: 'int' },
      { name: 'spectators', type: '[string]' },
      { name: 'spectator_count', type: 'int' },
    ],
  },
  'tictactoe.GameStateNotify': {
    table: [{ name: 'state', type: 'tictactoe.GameState', required: true }],
  },
  'tictactoe.PlaceMark': { table: [{ name: 'cell', type: 'int' }] },
  'tictactoe.PlaceMarkResult': {
    table: [{ name: 'state', type: 'tictactoe.GameState', required: true }],
  },
};
