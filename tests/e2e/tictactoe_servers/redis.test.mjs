// The sample's servers as a cluster on a Redis of their own, which stands still and is restarted.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { RedisProcess } from '../../support/redis_process.mjs';
import { ServerProcess, freePort, inTemporaryDirectory } from '../../support/server_process.mjs';
import { StreamClient } from '../../support/stream_client.mjs';

const TEST_MS = 60_000;
const LINKED = {
  flags: ['--mesh.listen=127.0.0.1:0'],
  environment: { SPOTMESH_MESH_SECRET: 'known-to-every-node-of-the-test' },
};
const SHORT_LEASE = [
  '--location.lease_ttl=5s', '--location.lease_margin=1s',
  '--location.lease_renew_interval=500ms', '--location.lease_renew_timeout=500ms',
];

function withServersOnRedis(count, work, flags = []) {
  return () => inTemporaryDirectory(async (directory) => {
    const redis = await RedisProcess.start(directory);
    const servers = [];
    try {
      for (let i = 0; i < count; i += 1) {
        servers.push(await ServerProcess.start('tictactoe', {
          directory,
          ...LINKED,
          store: redis.url,
          // The first one hosts all rooms and players, as samples/run.sh has it.
          flags: [...LINKED.flags, `--node.placement_weight=${i === 0 ? 100 : 0}`, ...flags],
        }));
      }
      for (const server of servers) await until(async () => await reachableNodes(server) === count);
      await work({ redis, servers });
    } catch (error) {
      for (const server of servers) error.message += `\n---- a server said:\n${server.output}`;
      throw error;
    } finally {
      await Promise.all(servers.map((server) => server.kill()));
      await redis.kill();
    }
  });
}

// Asks over and over; an answer takes its time.
async function until(condition) {
  let holds = false;
  while (!holds) holds = await condition();
}

async function reachableNodes(server) {
  const { nodes } = await (await fetch(`${server.admin}/v1/cluster`)).json();
  return nodes.filter((node) => node.is_reachable).length;
}

async function readiness(server) {
  return (await (await fetch(`${server.admin}/readyz`)).json()).status;
}

async function logIn(server, name, token = `a-token-that-only-${name}-knows`) {
  const client = await StreamClient.open(server.url);
  const answer = await client.request('tictactoe.Login', { name, device_token: token });
  return { client, answer };
}

async function player(server, name) {
  const { client, answer } = await logIn(server, name);
  assert.equal(answer.packet, 'tictactoe.LoginResult', JSON.stringify(answer));
  return client;
}

async function startGame([first, second]) {
  const ann = await player(first, 'Ann');
  const bob = await player(second, 'Bob');
  const opened = await ann.request('tictactoe.OpenRoom', { room: 'Den' });
  assert.equal(opened.packet, 'tictactoe.Entering', JSON.stringify(opened));
  await ann.push('tictactoe.GameStateNotify');
  const joined = await bob.request('tictactoe.JoinRoom', { room: 'Den' });
  assert.equal(joined.packet, 'tictactoe.Entering', JSON.stringify(joined));
  for (const client of [ann, bob]) {
    await client.push('tictactoe.GameStateNotify', ({ state }) => state.phase === 'Playing');
  }
  return { ann, bob };
}

async function place(client, cell) {
  const answer = await client.request('tictactoe.PlaceMark', { cell });
  assert.equal(answer.packet, 'tictactoe.PlaceMarkResult', JSON.stringify(answer));
}

async function expectWinner(clients, winner) {
  for (const client of clients) {
    const { state } = await client.push('tictactoe.GameStateNotify',
      (payload) => payload.state.phase === 'Finished');
    assert.equal(state.outcome, 'Win');
    assert.equal(state.winner, winner);
  }
}

test('players at different servers play each other, and a name exists once',
  { timeout: TEST_MS },
  withServersOnRedis(2, async ({ servers }) => {
    const { ann, bob } = await startGame(servers);
    for (const [client, cell] of [[ann, 0], [bob, 3], [ann, 1], [bob, 4], [ann, 2]]) {
      await place(client, cell);
    }
    await expectWinner([ann, bob], 'X');
    const { answer } = await logIn(servers[1], 'Ann', 'a-token-that-is-not-hers');
    assert.match(answer.error?.message ?? '', /'Ann' is taken by another player/);
    for (const server of servers) assert.deepEqual(await server.stop(), { code: 0, signal: null });
  }, SHORT_LEASE));

test('a Redis that stands still for longer than the leases stops nothing for good',
  { timeout: TEST_MS },
  withServersOnRedis(2, async ({ redis, servers }) => {
    const { ann, bob } = await startGame(servers);
    await place(ann, 0);
    redis.freeze();
    await place(bob, 3);
    for (const server of servers) {
      await server.says(/objects "this node's lease has run out/);
      assert.equal(await readiness(server), 'the lease has run out');
    }
    redis.thaw();
    for (const server of servers) {
      await server.says(/objects "this node's lease is renewed/);
      assert.equal(await readiness(server), 'ready');
    }
    for (const [client, cell] of [[ann, 1], [bob, 4], [ann, 2]]) await place(client, cell);
    await expectWinner([ann, bob], 'X');
    await player(servers[1], 'Cleo');
  }, SHORT_LEASE));

test('a Redis that is killed and comes back has the game go on, and lets new players in again',
  { timeout: TEST_MS },
  withServersOnRedis(2, async ({ redis, servers }) => {
    const { ann, bob } = await startGame(servers);
    await place(ann, 0);
    await redis.kill();
    await place(bob, 3);
    await redis.restart();
    for (const [client, cell] of [[ann, 1], [bob, 4], [ann, 2]]) await place(client, cell);
    await expectWinner([ann, bob], 'X');
    // Its epoch is a new one, and nothing is created before every owner had the time to say so.
    await until(async () => {
      const { client, answer } = await logIn(servers[1], 'Cleo');
      client.destroy();
      return answer.packet === 'tictactoe.LoginResult';
    });
    await redis.kill();
    for (const server of servers) assert.deepEqual(await server.stop(), { code: 0, signal: null });
  }, SHORT_LEASE));

test('a Redis that is not there stops the start, and is named', { timeout: TEST_MS },
  () => inTemporaryDirectory(async (directory) => {
    const port = await freePort();
    await assert.rejects(
      ServerProcess.start('tictactoe', { directory, store: `redis://127.0.0.1:${port}/0` }),
      new RegExp(`error: location.store: Redis 127\\.0\\.0\\.1:${port}: Connection refused`));
  }));
