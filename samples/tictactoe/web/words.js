// What the page says about a game, in words; kept apart from how it shows it.

export const opposite = (mark) => (mark === 'X' ? 'O' : 'X');

export const seatOf = (state, mark) => (mark === 'X' ? state.x : state.o) ?? null;

// 'X', 'O', or null for somebody who watches.
export function markOf(state, name) {
  if (state.x?.name === name) return 'X';
  if (state.o?.name === name) return 'O';
  return null;
}

// What a server says in the middle of things, as a sentence: "room 'Den' is full" begins with a
// capital letter and ends with a full stop.
export function sentence(text) {
  if (!text) return '';
  const whole = /[.!?…]$/u.test(text) ? text : `${text}.`;
  return whole[0].toUpperCase() + whole.slice(1);
}

const nameOf = (state, mark) => seatOf(state, mark)?.name ?? mark;

function roundOver(state, mine) {
  const { winner } = state;
  const isMine = winner === mine;
  switch (state.outcome) {
    case 'Draw':
      return 'A draw: nobody wins.';
    case 'Timeout':
      if (mine) return isMine ? 'You win: time ran out.' : 'Your time ran out.';
      return `${nameOf(state, winner)} wins: time ran out.`;
    case 'Forfeit':
      return isMine ? 'You win: your opponent has left.'
        : `${nameOf(state, winner)} wins: the opponent has left.`;
    default:
      if (mine) return isMine ? 'You win!' : `${nameOf(state, winner)} wins.`;
      return `${nameOf(state, winner)} wins!`;
  }
}

// The one sentence above the board.
export function verdict(state, me) {
  const mine = markOf(state, me);
  if (state.phase === 'Waiting') {
    return mine ? 'Waiting for an opponent. Share the link!' : 'Waiting for players.';
  }
  if (state.phase === 'Playing') {
    if (state.turn === mine) return 'Your turn';
    const waited = seatOf(state, state.turn);
    return waited?.is_connected ? `${waited.name}'s turn` : `${waited?.name} is reconnecting…`;
  }
  const result = roundOver(state, mine);
  if (!state.x || !state.o) return `${result} Waiting for a new opponent.`;
  if (!mine) return result;
  if (seatOf(state, mine).wants_rematch) return `${result} Waiting for the rematch…`;
  if (seatOf(state, opposite(mine)).wants_rematch) {
    return `${result} ${nameOf(state, opposite(mine))} wants a rematch.`;
  }
  return result;
}

// 'win' | 'loss' | 'draw' | 'turn' | 'wait': how the sentence is meant.
export function mood(state, me) {
  const mine = markOf(state, me);
  if (state.phase === 'Playing') return state.turn === mine ? 'turn' : 'wait';
  if (state.phase === 'Waiting' || state.outcome === 'None') return 'wait';
  if (state.outcome === 'Draw') return 'draw';
  return !mine || state.winner === mine ? 'win' : 'loss';
}

export function cellLabel(state, cell) {
  const place = `Row ${Math.floor(cell / 3) + 1}, column ${(cell % 3) + 1}`;
  const mark = state.cells[cell];
  const last = cell === state.last_cell ? ', latest move' : '';
  const won = (state.winning_cells ?? []).includes(cell) ? ', winning line' : '';
  return `${place}: ${mark === 'None' ? 'empty' : mark}${last}${won}`;
}

export function watchers(state) {
  const count = state.spectator_count;
  if (count === 0) return '';
  const names = state.spectators ?? [];
  const unnamed = count - names.length;
  const list = unnamed > 0 ? [...names, `${unnamed} more`] : names;
  return `Watching: ${new Intl.ListFormat('en').format(list)}`;
}
