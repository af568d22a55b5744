import assert from 'node:assert/strict';
import { test } from 'node:test';

import { cellLabel, markOf, mood, sentence, verdict, watchers } from
  '../../../samples/tictactoe/web/words.js';

const seat = (name, more = {}) => ({
  name, is_connected: true, wins: 0, wants_rematch: false, ...more,
});

const playing = {
  room: 'Den', phase: 'Playing', turn: 'X', cells: Array(9).fill('None'), last_cell: -1,
  winning_cells: [], outcome: 'None', winner: 'None', x: seat('Ann'), o: seat('Bob'),
  spectators: [], spectator_count: 0,
};
const finished = (more) => ({ ...playing, phase: 'Finished', turn: 'None', ...more });

test('everybody reads the turn from where they sit', () => {
  assert.equal(verdict(playing, 'Ann'), 'Your turn');
  assert.equal(verdict(playing, 'Bob'), "Ann's turn");
  assert.equal(verdict(playing, 'Cleo'), "Ann's turn");
  assert.equal(mood(playing, 'Ann'), 'turn');
  assert.equal(mood(playing, 'Bob'), 'wait');
  assert.equal(markOf(playing, 'Bob'), 'O');
  assert.equal(markOf(playing, 'Cleo'), null);
});

test('a player who is away is said to be', () => {
  const away = { ...playing, x: seat('Ann', { is_connected: false }) };
  assert.equal(verdict(away, 'Bob'), 'Ann is reconnecting…');
});

test('whoever is alone is told to share the link', () => {
  const waiting = { ...playing, phase: 'Waiting', turn: 'None', o: null };
  assert.match(verdict(waiting, 'Ann'), /Share the link/);
  assert.equal(verdict(waiting, 'Cleo'), 'Waiting for players.');
});

test('every outcome is said to winner, loser and spectator', () => {
  const cases = [
    ['Win', 'X', 'You win!', 'Ann wins.', 'Ann wins!'],
    ['Timeout', 'X', 'You win: time ran out.', 'Your time ran out.', 'Ann wins: time ran out.'],
    ['Draw', 'None', ...Array(3).fill('A draw: nobody wins.')],
  ];
  for (const [outcome, winner, forWinner, forLoser, forSpectator] of cases) {
    const state = finished({ outcome, winner });
    assert.equal(verdict(state, 'Ann'), forWinner);
    assert.equal(verdict(state, 'Bob'), forLoser);
    assert.equal(verdict(state, 'Cleo'), forSpectator);
  }
  const left = finished({ outcome: 'Forfeit', winner: 'X', o: null });
  assert.equal(verdict(left, 'Ann'),
    'You win: your opponent has left. Waiting for a new opponent.');
  assert.equal(mood(left, 'Ann'), 'win');
  assert.equal(mood(finished({ outcome: 'Win', winner: 'X' }), 'Bob'), 'loss');
  assert.equal(mood(finished({ outcome: 'Draw' }), 'Bob'), 'draw');
});

test('a wish for a rematch is said to both', () => {
  const state = finished({
    outcome: 'Win', winner: 'X', o: seat('Bob', { wants_rematch: true }),
  });
  assert.equal(verdict(state, 'Bob'), 'Ann wins. Waiting for the rematch…');
  assert.equal(verdict(state, 'Ann'), 'You win! Bob wants a rematch.');
});

test('a cell says where it is and what it holds', () => {
  const cells = [...playing.cells];
  cells[5] = 'O';
  const state = { ...playing, cells, last_cell: 5, winning_cells: [5] };
  assert.equal(cellLabel(state, 5), 'Row 2, column 3: O, latest move, winning line');
  assert.equal(cellLabel(state, 0), 'Row 1, column 1: empty');
});

test('those who watch are named, and counted when there are many', () => {
  assert.equal(watchers(playing), '');
  assert.equal(watchers({ ...playing, spectators: ['Cleo'], spectator_count: 1 }),
    'Watching: Cleo');
  assert.equal(watchers({ ...playing, spectators: ['Cleo', 'Dan'], spectator_count: 9 }),
    'Watching: Cleo, Dan, and 7 more');
});

test("a server's words become a sentence", () => {
  assert.equal(sentence("room 'Den' is full"), "Room 'Den' is full.");
  assert.equal(sentence('There is no connection.'), 'There is no connection.');
  assert.equal(sentence('élan is missing…'), 'Élan is missing…');
  assert.equal(sentence(''), '');
});
