// The lobby: open a room, or choose one that is there.

import { byId, element } from './dom.js';

const ADJECTIVES = ['Quiet', 'Sunny', 'Clever', 'Brave', 'Gentle', 'Merry', 'Swift', 'Misty'];
const PLACES = ['Garden', 'Harbour', 'Meadow', 'Attic', 'Bridge', 'Corner', 'Island', 'Orchard'];

const anyOf = (list) => list[Math.floor(Math.random() * list.length)];

function describe(room) {
  const names = room.players ?? [];
  const watched = room.spectators > 0 ? `, ${room.spectators} watching` : '';
  if (names.length === 2) return `${names[0]} against ${names[1]}${watched}`;
  if (names.length === 1) return `${names[0]} waits for an opponent${watched}`;
  return `Nobody is seated${watched}`;
}

export class Lobby {
  #actions;

  // actions: {open(room), join(room), watch(room)}
  constructor(actions) {
    this.#actions = actions;
    byId('open-room').addEventListener('submit', (event) => {
      event.preventDefault();
      this.#actions.open(byId('room-name').value.trim());
    });
  }

  suggestRoomName() {
    const field = byId('room-name');
    if (!field.value) field.value = `${anyOf(ADJECTIVES)} ${anyOf(PLACES)}`;
  }

  show(rooms) {
    const list = byId('rooms');
    const focused = document.activeElement?.dataset?.room;
    list.replaceChildren(...rooms.map((room) => this.#row(room)));
    byId('no-rooms').hidden = rooms.length > 0;
    // A list that changes under one's hands keeps the place of the hand.
    if (focused) list.querySelector(`[data-room="${CSS.escape(focused)}"]`)?.focus();
  }

  #row(room) {
    const isFree = (room.players ?? []).length < 2;
    const label = isFree ? 'Join' : 'Watch';
    return element(
      'li',
      { class: isFree ? 'room-row free' : 'room-row' },
      element(
        'div',
        { class: 'room-text' },
        element('strong', {}, room.name),
        element('span', {}, describe(room)),
      ),
      element(
        'button',
        {
          type: 'button',
          class: isFree ? 'primary' : 'quiet',
          'data-room': room.name,
          'aria-label': `${label} ${room.name}`,
          onclick: () => this.#actions[isFree ? 'join' : 'watch'](room.name),
        },
        label,
      ),
    );
  }
}
