import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';

import { SpotmeshClient, SpotmeshError } from
  '../../../samples/tictactoe/web/spotmesh-client.js';
import { FakeClock, FakeSocket, settle } from './fakes.mjs';

const clock = new FakeClock();
clock.install();

let statuses;
let pushes;

beforeEach(() => {
  FakeSocket.opened = [];
  statuses = [];
  pushes = [];
});

function makeClient(options = {}) {
  return new SpotmeshClient('ws://game/stream', {
    WebSocket: FakeSocket,
    random: () => 1,
    onStatus: (status) => statuses.push(status),
    onPush: (packet, payload) => pushes.push([packet, payload]),
    ...options,
  });
}

async function openClient(options) {
  const client = makeClient(options);
  client.connect();
  FakeSocket.last.accept();
  await settle();
  return client;
}

const states = () => statuses.map((status) => status.state);

test('it speaks the JSON subprotocol and says when it is connected', async () => {
  const client = await openClient();
  assert.deepEqual(FakeSocket.last.protocols, ['spotmesh.v1.json']);
  assert.deepEqual(states(), ['connecting', 'open']);
  client.connect();
  assert.equal(FakeSocket.opened.length, 1);
});

test('replies go to their requests, whatever their order', async () => {
  const client = await openClient();
  const first = client.request('g.A', { cell: 1 });
  const second = client.request('g.B');
  const socket = FakeSocket.last;
  assert.deepEqual(socket.sent, [
    { packet: 'g.A', seq: 1, payload: { cell: 1 } },
    { packet: 'g.B', seq: 2, payload: {} },
  ]);
  socket.say({ reply_to: 2, packet: 'g.Second', payload: { b: 2 } });
  socket.say({ reply_to: 1, packet: 'g.First', payload: { a: 1 } });
  assert.deepEqual(await second, { packet: 'g.Second', payload: { b: 2 } });
  assert.deepEqual(await first, { packet: 'g.First', payload: { a: 1 } });
});

test('a refusal is an error with its kind and message', async () => {
  const client = await openClient();
  const request = client.request('g.A');
  FakeSocket.last.refuse('InvalidOperation', 'cell 4 is taken');
  await assert.rejects(request, (error) => error instanceof SpotmeshError
    && error.kind === 'InvalidOperation' && error.message === 'cell 4 is taken');
});

test('what the server pushes is handed on, once', async () => {
  await openClient();
  FakeSocket.last.say({ packet: 'g.Notify', payload: { n: 1 } });
  assert.deepEqual(pushes, [['g.Notify', { n: 1 }]]);
});

test('a request without an answer ends, and a late answer belongs to nobody', async () => {
  const client = await openClient({ requestTimeoutMs: 1000 });
  const request = client.request('g.A');
  const outcome = assert.rejects(request, { kind: 'NoAnswer' });
  await clock.advance(1000);
  await outcome;
  FakeSocket.last.answer('g.Late');
  assert.deepEqual(pushes, []);
});

test('a lost connection ends its requests and is opened anew, later each time', async () => {
  const client = await openClient({ firstPauseMs: 100, longestPauseMs: 400 });
  const request = client.request('g.A');
  const outcome = assert.rejects(request, { kind: 'ConnectionLost' });
  FakeSocket.last.end();
  await outcome;
  const pauses = [];
  for (let attempt = 0; attempt < 4; attempt += 1) {
    const { state, retryInMs } = statuses.at(-1);
    assert.equal(state, 'waiting');
    pauses.push(retryInMs);
    await clock.advance(retryInMs - 1);
    assert.equal(FakeSocket.opened.length, attempt + 1);
    await clock.advance(1);
    assert.equal(FakeSocket.opened.length, attempt + 2);
    FakeSocket.last.end();
  }
  assert.deepEqual(pauses, [100, 200, 400, 400]);
  // Once it has worked, the pauses are short again.
  await clock.advance(400);
  FakeSocket.last.accept();
  await settle();
  FakeSocket.last.end();
  assert.equal(statuses.at(-1).retryInMs, 100);
  client.stop();
});

test('the pause is partly random', async () => {
  const client = await openClient({ firstPauseMs: 100, random: () => 0 });
  FakeSocket.last.end();
  assert.equal(statuses.at(-1).retryInMs, 50);
  client.stop();
});

test('every new connection logs in before it counts as open', async () => {
  let logins = 0;
  const client = makeClient({
    firstPauseMs: 100,
    onOpen: async () => {
      logins += 1;
      await client.request('g.Login');
    },
  });
  client.connect();
  FakeSocket.last.accept();
  await settle();
  assert.deepEqual(states(), ['connecting']);
  FakeSocket.last.answer('g.LoginResult');
  await settle();
  assert.deepEqual(states(), ['connecting', 'open']);
  FakeSocket.last.end();
  await clock.advance(100);
  FakeSocket.last.accept();
  await settle();
  assert.equal(logins, 2);
  client.stop();
});

test('a login that is refused stops it, one that cannot be now is tried again', async () => {
  const client = makeClient({ firstPauseMs: 100, onOpen: () => client.request('g.Login') });
  client.connect();
  FakeSocket.last.accept();
  FakeSocket.last.refuse('Unavailable', 'just leaving');
  await settle();
  assert.equal(statuses.at(-1).state, 'waiting');
  await clock.advance(100);
  FakeSocket.last.accept();
  FakeSocket.last.refuse('Rejected', 'the name is taken');
  await settle();
  assert.equal(statuses.at(-1).state, 'stopped');
  assert.equal(statuses.at(-1).error.message, 'the name is taken');
  await clock.advance(100_000);
  assert.equal(FakeSocket.opened.length, 2);
});

test('a page that another one has replaced does not come back by itself', async () => {
  await openClient();
  FakeSocket.last.end(4003, 'replaced');
  assert.equal(statuses.at(-1).state, 'stopped');
  assert.equal(statuses.at(-1).code, 4003);
  await clock.advance(100_000);
  assert.equal(FakeSocket.opened.length, 1);
});

test('a server that has fallen silent is noticed', async () => {
  const client = await openClient({
    probe: ({ timeoutMs }) => client.request('g.Sync', {}, { timeoutMs }),
    probeAfterMs: 1000,
    probeTimeoutMs: 500,
  });
  const silent = FakeSocket.last;
  await clock.advance(1000);
  assert.equal(silent.sent.at(-1).packet, 'g.Sync');
  await clock.advance(500);
  assert.equal(statuses.at(-1).state, 'waiting');
  assert.equal(silent.closedWith, 1000);
  // What the old connection still does changes nothing.
  const shown = statuses.length;
  silent.end();
  silent.say({ packet: 'g.Notify', payload: {} });
  assert.equal(statuses.length, shown);
  assert.deepEqual(pushes, []);
  client.stop();
});

test('a server that answers the probe is asked again after the next silence', async () => {
  const client = await openClient({
    probe: ({ timeoutMs }) => client.request('g.Sync', {}, { timeoutMs }),
    probeAfterMs: 1000,
    probeTimeoutMs: 500,
  });
  for (let round = 1; round <= 3; round += 1) {
    await clock.advance(1000);
    assert.equal(FakeSocket.last.sent.length, round);
    FakeSocket.last.answer('g.SyncResult');
  }
  assert.equal(statuses.at(-1).state, 'open');
  client.stop();
});

test('a connection that is never accepted is given up', async () => {
  const client = makeClient({ connectTimeoutMs: 1000 });
  client.connect();
  await clock.advance(1000);
  assert.equal(statuses.at(-1).state, 'waiting');
  client.stop();
});

test('once stopped it sends nothing and waits for nothing', async () => {
  const client = await openClient();
  const request = client.request('g.A');
  client.stop('bye');
  await assert.rejects(request, { kind: 'ConnectionLost', message: 'bye' });
  await assert.rejects(client.request('g.B'), { kind: 'ConnectionLost' });
  assert.equal(client.send('g.C'), false);
  await clock.advance(0);
  assert.equal(clock.pending, 0);
});
