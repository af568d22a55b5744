// Clients in another language play TicTacToe with each other over every form of STREAM.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import path from 'node:path';
import { test } from 'node:test';

import {
  ServerProcess, binDirectory, inTemporaryDirectory, sourceDirectory,
} from '../../support/server_process.mjs';
import { BinaryClient, JsonClient, TcpClient } from './clients.mjs';
import { Packets } from './packets.mjs';
import { tictactoe } from './tictactoe.mjs';

const TEST_MS = 60_000;
const FORMS = {
  json: (server) => JsonClient.open(server.port),
  binary: (server, hello) => BinaryClient.open(server.port, tictactoe, hello),
  tcp: (server, hello) => TcpClient.open(server.tcpPort, tictactoe, hello),
};

function withServer(work, flags = []) {
  return () => inTemporaryDirectory(async (directory) => {
    const server = await ServerProcess.start('tictactoe', {
      directory, flags: ['--stream.tcp=127.0.0.1:0', ...flags],
    });
    try {
      await work(server);
    } catch (error) {
      error.message += `\n---- the server said:\n${server.output}`;
      throw error;
    } finally {
      await server.kill();
    }
  });
}

async function player(server, form, name) {
  const client = await FORMS[form](server);
  const answer = await client.request('tictactoe.Login', {
    name, device_token: `a-token-that-only-${name}-knows`,
  });
  assert.equal(answer.packet, 'tictactoe.LoginResult', JSON.stringify(answer));
  assert.deepEqual(answer.payload, { name, is_resumed: false });
  return client;
}

async function playOneRound(server, formOfX, formOfO, room) {
  const x = await player(server, formOfX, `X-${room}`);
  const o = await player(server, formOfO, `O-${room}`);
  await x.request('tictactoe.OpenRoom', { room });
  const entering = await o.request('tictactoe.JoinRoom', { room });
  assert.deepEqual(entering.payload, { room, role: 'Player' });
  const begun = await x.push('tictactoe.GameStateNotify', ({ state }) => state.phase === 'Playing');
  assert.equal(begun.state.room, room);
  assert.equal(begun.state.x.name, `X-${room}`);
  assert.equal(begun.state.o.name, `O-${room}`);
  assert.equal(begun.state.last_cell, -1);
  await o.push('tictactoe.GameStateNotify', ({ state }) => state.phase === 'Playing');

  for (const [client, cell] of [[x, 0], [o, 3], [x, 1], [o, 4]]) {
    const { packet, payload } = await client.request('tictactoe.PlaceMark', { cell });
    assert.equal(packet, 'tictactoe.PlaceMarkResult');
    assert.equal(payload.state.last_cell, cell);
  }
  const taken = await x.request('tictactoe.PlaceMark', { cell: 4 });
  assert.equal(taken.error.code, 10, JSON.stringify(taken));
  assert.equal(taken.error.kind, 'InvalidOperation');
  await x.request('tictactoe.PlaceMark', { cell: 2 });
  for (const client of [x, o]) {
    const { state } = await client.push('tictactoe.GameStateNotify',
      (push) => push.state.phase === 'Finished');
    assert.deepEqual(state.cells, ['X', 'X', 'X', 'O', 'O', 'None', 'None', 'None', 'None']);
    assert.deepEqual(state.winning_cells, [0, 1, 2]);
    assert.equal(state.outcome, 'Win');
    assert.equal(state.winner, 'X');
    assert.equal(state.x.wins, 1);
    assert.equal(state.spectator_count, 0);
  }
  await x.leave();
  assert.equal(x.close.code, 1000, JSON.stringify(x.close));
  await o.leave();
}

for (const formOfX of Object.keys(FORMS)) {
  for (const formOfO of Object.keys(FORMS)) {
    test(`${formOfX} plays against ${formOfO}`, { timeout: TEST_MS }, withServer(
      (server) => playOneRound(server, formOfX, formOfO, `${formOfX}-${formOfO}`)));
  }
}

test('the fingerprint that the page describes is the one that the compiler prints', () => {
  const printed = execFileSync(path.join(binDirectory, 'spotmesh-packetc'), [
    'lines', path.join(sourceDirectory, 'samples/tictactoe/schema/tictactoe.fbs'),
  ], { encoding: 'utf8' });
  const types = new Map();
  for (const line of printed.trimEnd().split('\n')) {
    const [, index, hash] = /^ +(\d+)  0x([0-9a-f]{8})  /.exec(line) ?? [];
    if (hash === undefined) types.set(line, []);
    else [...types.values()].at(-1)[Number(index)] = Number.parseInt(hash, 16);
  }
  for (const { name, lines } of new Packets(tictactoe).prints()) {
    assert.deepEqual(lines, types.get(name), name);
  }
});

test('Welcome tells what the server allows', { timeout: TEST_MS }, withServer(async (server) => {
  for (const form of ['binary', 'tcp']) {
    const { welcome } = await FORMS[form](server);
    assert.match(welcome.session, /^[0-9a-f]{32}$/);
    assert.deepEqual({ ...welcome, session: '' }, {
      version: 1,
      session: '',
      message_bytes: 5000,
      requests_in_flight: 256,
      request_timeout_ms: 15_000,
      heartbeat_ms: 2000,
      resumed: false,
      resume: '',
    });
  }
}, ['--stream.message_bytes=5000', '--stream.heartbeat_interval=2s']));

test('a client of another schema learns which packet does not fit', { timeout: TEST_MS },
  withServer(async (server) => {
    const changed = {
      ...tictactoe,
      'tictactoe.PlaceMark': { table: [{ name: 'cell', type: 'ubyte' }] },
    };
    for (const open of [() => BinaryClient.open(server.port, changed),
      () => TcpClient.open(server.tcpPort, changed)]) {
      await assert.rejects(open(), /4008.*tictactoe\.PlaceMark does not fit.*'cell:int=0' here/);
    }
    await assert.rejects(FORMS.binary(server, { version: 2 }), /4008.*version 1/);
  }));

test('a client that is silent is pinged over each form, and stays', { timeout: TEST_MS },
  withServer(async (server) => {
    const clients = await Promise.all(
      Object.keys(FORMS).map((form) => player(server, form, `silent-${form}`)));
    // Its pongs keep it alive far beyond two heartbeats.
    await new Promise((resolve) => {
      let pings = 0;
      const { socket } = clients[0];
      socket.on('ping', () => {
        pings += 1;
        if (pings === 6) resolve();
      });
    });
    for (const client of clients) {
      assert.equal(client.close, null);
      const answer = await client.request('tictactoe.OpenRoom', { room: 'Den' });
      assert.ok(answer.packet ?? answer.error, JSON.stringify(answer));
    }
  }, ['--stream.heartbeat_interval=200ms']));

test('a server that stops says so over each form', { timeout: TEST_MS }, withServer(
  async (server) => {
    const clients = await Promise.all(
      Object.keys(FORMS).map((form) => player(server, form, `left-${form}`)));
    assert.deepEqual(await server.stop(), { code: 0, signal: null });
    for (const client of clients) {
      await client.ended;
      assert.equal(client.close?.code, 1001, JSON.stringify(client.close));
    }
  }));
