// The page: one connection, one player, and the screen that fits where the player is.

import { byId, setText, toast } from './dom.js';
import { Identity } from './identity.js';
import { Lobby } from './lobby.js';
import { Room } from './room.js';
import { SpotmeshClient } from './spotmesh-client.js';
import { markOf, sentence } from './words.js';

const identity = new Identity();
let state = null; // of the room that this player is in
let me = null; // the name the server knows this page by
let wanted = roomInAddress(); // a room to enter as soon as the lobby is reached
let isEntering = false; // a way into a room has begun and not ended

const scheme = location.protocol === 'https:' ? 'wss:' : 'ws:';
const client = new SpotmeshClient(`${scheme}//${location.host}/stream`, {
  onOpen: logIn,
  onPush: receive,
  onStatus: showConnection,
  probe,
});

const lobby = new Lobby({
  open: (room) => enter('OpenRoom', room),
  join: (room) => enter('JoinRoom', room),
  watch: (room) => enter('Spectate', room),
});

const room = new Room({
  place,
  rematch: () => attempt(async () => showState((await ask('Rematch')).state)),
  takeSeat: () => enter('JoinRoom', state.room),
  leave,
  share,
});

async function ask(packet, payload = {}, options = undefined) {
  return (await client.request(`tictactoe.${packet}`, payload, options)).payload;
}

// Runs what a click asked for; what goes wrong is said, never swallowed.
async function attempt(work, explain = (error) => sentence(error.message)) {
  try {
    await work();
    return true;
  } catch (error) {
    toast(explain(error), 'error');
    return false;
  }
}

// ---- logging in ---------------------------------------------------------------------------------

async function logIn() {
  isEntering = false;
  const login = { name: identity.name, device_token: identity.deviceToken };
  me = (await ask('Login', login)).name;
  identity.name = me;
  const sync = await ask('Sync');
  if (sync.room) {
    showState(sync.room);
  } else {
    if (state) closed(state.room);
    showLobby();
  }
}

// A server that was restarted, or an absence that was too long, has ended the game meanwhile.
function closed(name) {
  setAddress(null);
  toast(`You are no longer in ${name}.`);
}

// Looks whether the server is there, and whether the page shows what is true.
async function probe(options) {
  const sync = await ask('Sync', {}, options);
  if (sync.room) {
    showState(sync.room);
  } else if (state) {
    closed(state.room);
    showLobby();
  }
}

function askName(complaint = '') {
  showScreen('welcome');
  byId('name').value = identity.suggestedName;
  setText(byId('login-error'), sentence(complaint));
  byId('name').focus();
  byId('name').select();
}

byId('login').addEventListener('submit', (event) => {
  event.preventDefault();
  const name = byId('name').value.trim();
  if (!name) return;
  identity.name = name;
  setText(byId('login-error'), '');
  client.connect();
});

byId('come-back').addEventListener('click', () => {
  showScreen('start');
  client.connect();
});

// ---- the lobby ----------------------------------------------------------------------------------

async function showLobby() {
  state = null;
  room.hide();
  showScreen('lobby');
  lobby.suggestRoomName();
  const name = wanted;
  wanted = null;
  // On the way into a room there is no list of rooms, unless the way ends at its door.
  if (!name || !(await enter('OpenRoom', name))) await listRooms();
}

function listRooms() {
  return attempt(async () => lobby.show((await ask('ListRooms')).rooms ?? []));
}

// What comes of it is pushed: GameStateNotify or EnterFailedNotify. Until then there is no second
// way into a room; whoever clicks twice means it once.
async function enter(packet, name) {
  if (isEntering) return true;
  isEntering = true;
  const hasBegun = await attempt(() => ask(packet, { room: name }));
  if (!hasBegun) isEntering = false;
  return hasBegun;
}

function turnedAway({ room: name, message, is_full: isFull }) {
  isEntering = false;
  setAddress(null);
  if (isFull) {
    enter('Spectate', name); // which says so
  } else {
    toast(sentence(message), 'error');
    listRooms();
  }
}

// ---- the room -----------------------------------------------------------------------------------

function showState(next) {
  // A reply and a push may overtake each other; the newer state is the true one.
  const isNew = state?.generation !== next.generation;
  if (!isNew && next.revision < state.revision) return;
  state = next;
  wanted = null;
  isEntering = false;
  setAddress(next.room);
  showScreen('room');
  room.show(next, me);
  if (isNew) {
    room.focusBoard();
    if (!markOf(next, me)) {
      toast(next.x && next.o ? 'Both seats are taken: you are watching.' : 'You are watching.');
    }
  }
  showTitle();
}

async function place(cell) {
  if (room.isMyTurn() && state.cells[cell] === 'None') room.anticipate(cell);
  const isPlaced = await attempt(
    async () => showState((await ask('PlaceMark', { cell })).state),
    (error) => {
      const isTaken = room.isMyTurn() && state.cells[cell] !== 'None';
      return isTaken ? 'That cell is taken.' : sentence(error.message);
    },
  );
  if (!isPlaced) room.takeBack();
}

async function leave() {
  if (state.phase === 'Playing' && markOf(state, me)) {
    const dialog = byId('confirm-leave');
    dialog.returnValue = '';
    dialog.showModal();
    await new Promise((resolve) => dialog.addEventListener('close', resolve, { once: true }));
    if (dialog.returnValue !== 'leave') return;
  }
  await attempt(() => ask('LeaveRoom'));
}

async function share() {
  const link = { title: 'TicTacToe', text: `Play TicTacToe in ${state.room}`, url: location.href };
  try {
    if (navigator.share && matchMedia('(pointer: coarse)').matches) {
      await navigator.share(link);
    } else {
      await navigator.clipboard.writeText(link.url);
      toast('The link is copied.');
    }
  } catch (error) {
    // Without permission to copy, the link is there to be copied by hand.
    if (error.name !== 'AbortError') toast(link.url);
  }
}

// ---- what the server pushes ---------------------------------------------------------------------

function receive(packet, payload) {
  switch (packet) {
    case 'tictactoe.GameStateNotify':
      showState(payload.state);
      break;
    case 'tictactoe.RoomListNotify':
      lobby.show(payload.rooms ?? []);
      break;
    case 'tictactoe.EnterFailedNotify':
      turnedAway(payload);
      break;
    case 'tictactoe.LobbyNotify':
      setAddress(null);
      showLobby();
      break;
    case 'tictactoe.ReplacedNotify':
      break; // the close that follows says it
    default:
      console.warn(`no use for ${packet}`, payload);
  }
}

// ---- the frame around it ------------------------------------------------------------------------

function showScreen(name) {
  document.body.dataset.screen = name;
  for (const screen of document.querySelectorAll('.screen')) {
    screen.hidden = screen.id !== name;
  }
  const isNamed = Boolean(me) && (name === 'lobby' || name === 'room');
  byId('me').hidden = !isNamed;
  setText(byId('me'), isNamed ? me : '');
  showTitle();
}

function showTitle() {
  const isTurn = document.body.dataset.screen === 'room' && room.isMyTurn();
  const where = state ? `${state.room} · TicTacToe` : 'TicTacToe';
  document.title = isTurn ? `● Your turn · ${where}` : where;
}

const CONNECTION_TEXT = {
  connecting: 'Connecting…',
  open: 'Connected',
  waiting: 'Reconnecting…',
  stopped: 'Offline',
};

function showConnection(status) {
  byId('connection').dataset.state = status.state;
  setText(byId('connection-text'), CONNECTION_TEXT[status.state]);
  byId('connection').title = status.reason ?? '';
  document.body.classList.toggle('offline', status.state !== 'open');
  if (status.state !== 'stopped') return;
  if (status.error) {
    me = null;
    askName(status.error.message);
  } else {
    showScreen('elsewhere');
  }
}

// The room in the address makes it a link to share.
function roomInAddress() {
  return new URLSearchParams(location.hash.slice(1)).get('room');
}

function setAddress(name) {
  if (roomInAddress() === name) return;
  const hash = name ? `#room=${encodeURIComponent(name)}` : '';
  history.replaceState(null, '', location.pathname + location.search + hash);
}

addEventListener('hashchange', () => {
  const name = roomInAddress();
  if (!name || name === state?.room) return;
  if (state) {
    toast(`Leave ${state.room} to enter ${name}.`, 'error');
    setAddress(state.room);
  } else if (document.body.dataset.screen === 'lobby') {
    enter('OpenRoom', name);
  } else {
    wanted = name;
  }
});

if (identity.name) {
  client.connect();
} else {
  askName();
}
