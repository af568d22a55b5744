// Real server processes: stops, restarts, and two of them on one Location Store.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { test } from 'node:test';

import {
  ServerProcess, binDirectory, inTemporaryDirectory, serverEnvironment, sourceDirectory,
} from '../../support/server_process.mjs';
import { StreamClient } from '../../support/stream_client.mjs';

const TEST_MS = 60_000;
const deviceToken = (name) => `a-token-that-only-${name.replaceAll(' ', '-')}-knows`;

async function logIn(server, name) {
  const client = await StreamClient.open(server.url);
  const answer = await client.request('tictactoe.Login', {
    name, device_token: deviceToken(name),
  });
  return { client, answer };
}

async function player(server, name) {
  const { client, answer } = await logIn(server, name);
  assert.equal(answer.packet, 'tictactoe.LoginResult', JSON.stringify(answer));
  return client;
}

async function openRoom(client, room) {
  const answer = await client.request('tictactoe.OpenRoom', { room });
  assert.equal(answer.packet, 'tictactoe.Entering', JSON.stringify(answer));
  return (await client.push('tictactoe.GameStateNotify')).state;
}

async function roomsOf(client) {
  const { payload } = await client.request('tictactoe.ListRooms');
  return payload.rooms.map((room) => room.name);
}

async function placeAll(moves) {
  for (const [client, cell] of moves) {
    const answer = await client.request('tictactoe.PlaceMark', { cell });
    assert.equal(answer.packet, 'tictactoe.PlaceMarkResult', JSON.stringify(answer));
  }
}

function withServers(count, work, flags = []) {
  return () => inTemporaryDirectory(async (directory) => {
    const servers = [];
    try {
      for (let i = 0; i < count; i += 1) {
        servers.push(await ServerProcess.start('tictactoe', { directory, flags }));
      }
      await work(servers, directory);
    } catch (error) {
      for (const server of servers) error.message += `\n---- a server said:\n${server.output}`;
      throw error;
    } finally {
      await Promise.all(servers.map((server) => server.kill()));
    }
  });
}

test('two servers on one store each host a whole game', { timeout: TEST_MS },
  withServers(2, async ([first, second]) => {
    const games = [[first, 'Ann', 'Bob', 'Den'], [second, 'Cleo', 'Dan', 'Hut']];
    for (const [server, x, o, room] of games) {
      const one = await player(server, x);
      const other = await player(server, o);
      await openRoom(one, room);
      await other.request('tictactoe.JoinRoom', { room });
      await one.push('tictactoe.GameStateNotify', ({ state }) => state.phase === 'Playing');
      await placeAll([[one, 0], [other, 3], [one, 1], [other, 4], [one, 2]]);
      const { state } = await other.push('tictactoe.GameStateNotify',
        (payload) => payload.state.phase === 'Finished');
      assert.equal(state.outcome, 'Win');
      assert.equal(state.winner, 'X');
      const watcher = await player(server, `watcher of ${room}`);
      assert.deepEqual(await roomsOf(watcher), [room]);
    }
  }));

test('a name and a room exist once, whichever server is asked', { timeout: TEST_MS },
  withServers(2, async ([first, second]) => {
    const ann = await player(first, 'Ann');
    await openRoom(ann, 'Den');
    // The player and the room live on the first server, which the second one has no link to.
    const { answer } = await logIn(second, 'Ann');
    assert.equal(answer.error?.kind, 'Unavailable', JSON.stringify(answer));
    assert.ok(answer.error.message.length > 10, answer.error.message);
    const bob = await player(second, 'Bob');
    await bob.request('tictactoe.OpenRoom', { room: 'Den' });
    const refused = await bob.push('tictactoe.EnterFailedNotify');
    assert.equal(refused.room, 'Den');
    // Bob is still in the lobby, and plays elsewhere.
    await openRoom(bob, 'Hut');
  }));

test('of two logins at once, one on each server, one is let in', { timeout: TEST_MS },
  withServers(2, async (servers) => {
    const names = Array.from({ length: 20 }, (_, i) => `Player ${i}`);
    const outcomes = await Promise.all(names.flatMap((name) => servers.map(async (server) => {
      const { answer } = await logIn(server, name);
      return { name, isIn: answer.packet === 'tictactoe.LoginResult' };
    })));
    for (const name of names) {
      const isIn = outcomes.filter((outcome) => outcome.name === name && outcome.isIn);
      assert.equal(isIn.length, 1, `${name} was let in ${isIn.length} times`);
    }
  }));

test('the end of one server leaves the other one playing', { timeout: TEST_MS },
  withServers(2, async ([first, second]) => {
    await player(first, 'Ann');
    const bob = await player(second, 'Bob');
    await openRoom(bob, 'Hut');
    await first.kill();
    const cleo = await player(second, 'Cleo');
    await cleo.request('tictactoe.JoinRoom', { room: 'Hut' });
    await bob.push('tictactoe.GameStateNotify', ({ state }) => state.phase === 'Playing');
    await placeAll([[bob, 4], [cleo, 0]]);
  }));

test('a server that is asked to stop says so to its clients and ends with 0', { timeout: TEST_MS },
  withServers(1, async ([server], directory) => {
    const ann = await player(server, 'Ann');
    await openRoom(ann, 'Den');
    assert.deepEqual(await server.stop(), { code: 0, signal: null });
    await ann.ended;
    assert.equal(ann.close?.code, 1001);
    // It gave its names back: the next one begins afresh at once.
    const next = await ServerProcess.start('tictactoe', { directory });
    try {
      const again = await player(next, 'Ann');
      assert.equal((await again.request('tictactoe.Sync')).payload.room, null);
      assert.equal((await openRoom(again, 'Den')).round, 0);
    } finally {
      await next.kill();
    }
  }));

// Another process that keeps the store of `directory` locked until release().
async function lockStore(directory) {
  const locker = spawn('python3', ['-c', `
import sqlite3, sys
store = sqlite3.connect(sys.argv[1], isolation_level=None)
store.execute('BEGIN EXCLUSIVE')
print('locked', flush=True)
sys.stdin.read()
`, path.join(directory, 'cluster.db')], { stdio: ['pipe', 'pipe', 'inherit'] });
  await once(locker.stdout, 'data');
  return {
    release: async () => {
      locker.stdin.end();
      await once(locker, 'close');
    },
  };
}

test('a server whose store is locked stops in order',
  { timeout: TEST_MS },
  withServers(1, async ([server], directory) => {
    const ann = await player(server, 'Ann');
    const lock = await lockStore(directory);
    try {
      // A commit waits for the lock while the server ends.
      const login = logIn(server, 'Bob');
      login.catch(() => {});
      assert.deepEqual(await server.stop(), { code: 0, signal: null });
      await ann.ended;
      assert.equal(ann.close?.code, 1001);
    } finally {
      await lock.release();
    }
  }, ['--node.stop_deadline=1s']));

async function readiness(server) {
  const answer = await fetch(`${server.admin}/readyz`);
  return { code: answer.status, status: (await answer.json()).status };
}

const QUICK_LEASE = [
  '--location.lease_ttl=900ms', '--location.lease_renew_interval=200ms',
  '--location.lease_renew_timeout=200ms', '--location.lease_margin=200ms',
];

test('a server whose lease has run out is alive and not ready, until the store is back',
  { timeout: TEST_MS },
  withServers(1, async ([server], directory) => {
    assert.deepEqual(await readiness(server), { code: 200, status: 'ready' });
    const lock = await lockStore(directory);
    await server.says(/objects "this node's lease has run out/);
    assert.deepEqual(await readiness(server), { code: 503, status: 'the lease has run out' });
    assert.equal((await fetch(`${server.admin}/healthz`)).status, 200);
    const metrics = await (await fetch(`${server.admin}/metrics`)).text();
    assert.match(metrics, /^spotmesh_mesh_node_admitted 0$/m);
    // The page tries again by itself, and shows nobody what the server has inside.
    const { answer } = await logIn(server, 'Bob');
    assert.equal(answer.error?.kind, 'Unavailable', JSON.stringify(answer));
    assert.doesNotMatch(answer.error.message, /store|cluster|lease|tictactoe/i);
    await lock.release();
    await server.says(/objects "this node's lease is renewed/);
    assert.deepEqual(await readiness(server), { code: 200, status: 'ready' });
  }, QUICK_LEASE));

// Begins a stop by itself and sends the first signal, as a supervisor may a moment later. A commit
// that waits for the store keeps it from ending before that.
async function stopsByItself(server, directory, work) {
  const lock = await lockStore(directory);
  try {
    const login = logIn(server, 'Bob');
    login.catch(() => {});
    await fetch(`${server.admin}/v1/shutdown?deadline=2s`, { method: 'POST' });
    await server.says(/node "Draining"/);
    server.signal('SIGTERM');
    await server.says(/host "the node stops already/);
    await work();
  } finally {
    await lock.release();
  }
}

test('a server that stops by itself goes on doing so when it is told to', { timeout: TEST_MS },
  withServers(1, ([server], directory) => stopsByItself(server, directory, async () => {
    assert.deepEqual(await server.ended, { code: 0, signal: null });
  })));

test('the second signal ends a server on the spot, also one that stops by itself',
  { timeout: TEST_MS },
  withServers(1, ([server], directory) => stopsByItself(server, directory, async () => {
    assert.deepEqual(await server.stop(), { code: null, signal: 'SIGTERM' });
  })));

test('a terminal that is closed stops its server in order', { timeout: TEST_MS },
  withServers(1, async ([server]) => {
    const ann = await player(server, 'Ann');
    assert.deepEqual(await server.stop('SIGHUP'), { code: 0, signal: null });
    await ann.ended;
    assert.equal(ann.close?.code, 1001);
  }));

test('what a client sends in vain does not fill the log', { timeout: TEST_MS },
  withServers(1, async ([server]) => {
    const ann = await player(server, 'Ann');
    const before = server.output.length;
    for (let i = 0; i < 20_000; i += 1) ann.send('tictactoe.Sync');
    const answer = await ann.request('tictactoe.Sync');
    assert.equal(answer.packet, 'tictactoe.SyncResult', JSON.stringify(answer));
    await server.stop();
    assert.match(server.output, /one-way packet 'tictactoe.Sync' .* failed/);
    assert.match(server.output, /lines were left out/);
    assert.ok(server.output.length - before < 1_000_000, `${server.output.length} characters`);
  }, ['--stream.messages_per_second=0', '--stream.bytes_per_second=0']));

// What the server says until it has ended by itself, and its exit code.
async function runToItsEnd(...flags) {
  const server = spawn(path.join(binDirectory, 'tictactoe-server'), flags,
    { env: serverEnvironment });
  let output = '';
  for (const stream of [server.stdout, server.stderr]) {
    stream.on('data', (bytes) => {
      output += bytes;
    });
  }
  const [code] = await once(server, 'close');
  return { code, output };
}

test('the settings that the README shows are settings of the server', { timeout: TEST_MS },
  async () => {
    const file = path.join(sourceDirectory, 'samples/tictactoe/spotmesh.toml');
    const { code, output } = await runToItsEnd(`--config=${file}`, '--print-config');
    assert.equal(code, 0, output);
    assert.match(output, /allowed_origins = \["https:\/\/game.example"\]/);
    assert.match(output, /format = "json"/);
  });

test('a store that is none stops the start, and the setting is named', { timeout: TEST_MS },
  async () => {
    for (const store of ['', 'redis:host', 'sqlite:', 'sqlite::memory:', 'sqlite:/nowhere/it.db']) {
      const { code, output } = await runToItsEnd(`--location.store=${store}`);
      assert.equal(code, 2, output);
      assert.match(output, /^error: location.store: [^:]/m, store);
    }
  });

test('a page that is not there stops the start', { timeout: TEST_MS }, async () => {
  const { code, output } = await runToItsEnd('--stream.static_directory=/nowhere');
  assert.equal(code, 2, output);
  assert.match(output, /stream.static_directory: there is no folder '\/nowhere'/);
});
