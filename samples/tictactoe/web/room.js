// The room: two players, the board, the clock, and what can be done.

import { byId, element, setText, svgElement } from './dom.js';
import { cellLabel, markOf, mood, opposite, seatOf, verdict, watchers } from './words.js';

const CELLS = [0, 1, 2, 3, 4, 5, 6, 7, 8];
const LINES = [
  [0, 1, 2], [3, 4, 5], [6, 7, 8],
  [0, 3, 6], [1, 4, 7], [2, 5, 8],
  [0, 4, 8], [2, 4, 6],
];
const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
const HURRY_MS = 10_000;
const CLOCK_STEP_MS = 200;

const glyphs = {
  X: () => svgElement('svg', { viewBox: '0 0 100 100', class: 'glyph x', 'aria-hidden': 'true' },
    svgElement('path', { d: 'M24 24 76 76', pathLength: 1 }),
    svgElement('path', { d: 'M76 24 24 76', pathLength: 1 })),
  O: () => svgElement('svg', { viewBox: '0 0 100 100', class: 'glyph o', 'aria-hidden': 'true' },
    svgElement('circle', { cx: 50, cy: 50, r: 28, pathLength: 1 })),
};

const middleOf = (cell) => [50 + 100 * (cell % 3), 50 + 100 * Math.floor(cell / 3)];

function strikeOf([from, , to]) {
  const [x1, y1] = middleOf(from);
  const [x2, y2] = middleOf(to);
  const reach = 42 / Math.hypot(x2 - x1, y2 - y1);
  const dx = (x2 - x1) * reach;
  const dy = (y2 - y1) * reach;
  return svgElement('path', {
    d: `M${x1 - dx} ${y1 - dy} ${x2 + dx} ${y2 + dy}`,
    pathLength: 1,
  });
}

export class Room {
  #actions;
  #me = '';
  #state = null;
  #turnEndsAt = 0; // on performance.now()
  #pendingCell = -1; // a move that is on its way
  #cursor = 4; // the cell that the keyboard stands on
  #cells = [];

  // actions: {place(cell), rematch(), takeSeat(), leave(), share()}
  constructor(actions) {
    this.#actions = actions;
    this.#buildBoard();
    byId('rematch').addEventListener('click', () => actions.rematch());
    byId('take-seat').addEventListener('click', () => actions.takeSeat());
    byId('leave').addEventListener('click', () => actions.leave());
    byId('share').addEventListener('click', () => actions.share());
    setInterval(() => this.#tick(), CLOCK_STEP_MS);
  }

  show(state, me) {
    this.#me = me;
    this.#state = state;
    this.#pendingCell = -1;
    this.#turnEndsAt = performance.now() + state.turn_left_ms;
    setText(byId('room-title'), state.room);
    setText(byId('verdict'), verdict(state, me));
    byId('verdict').dataset.mood = mood(state, me);
    setText(byId('draws'), state.draws > 0 ? `${state.draws} drawn` : 'vs');
    setText(byId('watchers'), watchers(state));
    this.#showPlayer('X');
    this.#showPlayer('O');
    this.#showBoard();
    this.#showActions();
    this.#tick();
  }

  hide() {
    this.#state = null;
  }

  // Shows a move before the server has answered; show() or takeBack() settles it.
  anticipate(cell) {
    this.#pendingCell = cell;
    this.#showBoard();
  }

  takeBack() {
    this.#pendingCell = -1;
    if (this.#state) this.#showBoard();
  }

  isMyTurn() {
    const state = this.#state;
    return state?.phase === 'Playing' && state.turn === markOf(state, this.#me);
  }

  focusBoard() {
    this.#cells[this.#cursor].focus({ preventScroll: true });
  }

  #buildBoard() {
    this.#cells = CELLS.map((cell) => element('button', {
      type: 'button',
      class: 'cell',
      'data-cell': cell,
      tabindex: cell === this.#cursor ? 0 : -1,
      onclick: () => this.#choose(cell),
      onfocus: () => this.#moveCursor(cell),
    }));
    byId('board').append(...this.#cells);
    byId('board').addEventListener('keydown', (event) => this.#onKey(event));
  }

  #onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const step = ARROWS[event.key];
    if (step) {
      const column = (this.#cursor % 3 + step[0] + 3) % 3;
      const row = (Math.floor(this.#cursor / 3) + step[1] + 3) % 3;
      this.#cells[row * 3 + column].focus();
    } else if (/^[1-9]$/.test(event.key)) {
      const cell = Number(event.key) - 1;
      this.#cells[cell].focus();
      this.#choose(cell);
    } else {
      return;
    }
    event.preventDefault();
  }

  #moveCursor(cell) {
    this.#cells[this.#cursor].tabIndex = -1;
    this.#cursor = cell;
    this.#cells[cell].tabIndex = 0;
  }

  // The server is the judge: a taken cell or a wrong turn is asked all the same, and its answer
  // shown. Only a move that is already on its way is not sent again.
  #choose(cell) {
    if (this.#state && this.#pendingCell < 0) this.#actions.place(cell);
  }

  #showBoard() {
    const state = this.#state;
    const isMine = this.isMyTurn();
    const won = new Set(state.winning_cells ?? []);
    byId('board').dataset.turn = isMine ? state.turn : 'None';
    for (const cell of CELLS) {
      const isPending = cell === this.#pendingCell && state.cells[cell] === 'None';
      const mark = isPending ? state.turn : state.cells[cell];
      const button = this.#cells[cell];
      if (button.dataset.mark !== mark) {
        button.dataset.mark = mark;
        button.replaceChildren(...(mark === 'None' ? [] : [glyphs[mark]()]));
      }
      button.classList.toggle('pending', isPending);
      button.classList.toggle('last', cell === state.last_cell);
      button.classList.toggle('won', won.has(cell));
      button.classList.toggle('open', isMine && mark === 'None');
      button.setAttribute('aria-label', cellLabel(state, cell));
      button.setAttribute('aria-disabled', String(!isMine || mark !== 'None'));
    }
    this.#showStrike(won);
  }

  #showStrike(won) {
    const lines = LINES.filter((line) => line.every((cell) => won.has(cell)));
    const strike = byId('strike');
    const shown = lines.map((line) => line.join('')).join(' ');
    if (strike.dataset.lines === shown) return;
    strike.dataset.lines = shown;
    strike.dataset.mark = this.#state.winner;
    strike.replaceChildren(...lines.map(strikeOf));
  }

  #showPlayer(mark) {
    const state = this.#state;
    const seat = seatOf(state, mark);
    const card = byId(`player-${mark.toLowerCase()}`);
    const isTurn = state.phase === 'Playing' && state.turn === mark;
    card.dataset.state = !seat ? 'free' : seat.is_connected ? 'here' : 'away';
    card.classList.remove('hurry');
    card.classList.toggle('turn', isTurn);
    card.classList.toggle('winner', state.phase === 'Finished' && state.winner === mark);
    const you = seat?.name === this.#me ? element('span', { class: 'you' }, 'you') : null;
    card.replaceChildren(
      glyphs[mark](),
      element('p', { class: 'player-name' }, seat ? seat.name : 'Free seat'),
      element('p', { class: 'player-note' }, you,
        element('span', { class: 'note' }, this.#noteOn(seat))),
      element('p', { class: 'wins', 'aria-label': `${seat?.wins ?? 0} wins` },
        seat ? String(seat.wins) : ''),
      element('div', { class: 'clock', 'aria-hidden': 'true' }, element('i')),
    );
  }

  #noteOn(seat) {
    if (!seat) return '';
    if (!seat.is_connected) return 'away';
    return seat.wants_rematch ? 'wants a rematch' : '';
  }

  #showActions() {
    const state = this.#state;
    const mine = markOf(state, this.#me);
    const isFull = Boolean(state.x && state.o);
    const canAsk = mine && isFull && state.phase === 'Finished';
    const rematch = byId('rematch');
    rematch.hidden = !canAsk;
    rematch.disabled = canAsk ? seatOf(state, mine).wants_rematch : true;
    const isWanted = canAsk && seatOf(state, opposite(mine)).wants_rematch;
    setText(rematch, isWanted ? 'Accept the rematch' : 'Rematch');
    byId('take-seat').hidden = Boolean(mine) || isFull;
  }

  #tick() {
    const state = this.#state;
    if (state?.phase !== 'Playing') {
      setText(byId('time-left'), '');
      return;
    }
    const left = Math.max(0, this.#turnEndsAt - performance.now());
    const card = byId(`player-${state.turn.toLowerCase()}`);
    const isHurried = left < HURRY_MS;
    card.classList.toggle('hurry', isHurried);
    card.style.setProperty('--left', String(left / Math.max(1, state.turn_limit_ms)));
    setText(card.querySelector('.note'), `${Math.ceil(left / 1000)} s`);
    // Read out once, when it matters to the one who is to move.
    const warns = isHurried && this.isMyTurn() && left > 0;
    setText(byId('time-left'), warns ? 'Less than ten seconds left.' : '');
  }
}
