// A cluster of real processes as samples/run.sh starts it: one hosts the rooms, and players come in
// at any of them.

import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';

import { ServerProcess, inTemporaryDirectory } from '../../support/server_process.mjs';
import { StreamClient } from '../../support/stream_client.mjs';

const TEST_MS = 60_000;
const LEASE_MS = 900;
const MARGIN_MS = 200;
const QUICK_LEASE = [
  `--location.lease_ttl=${LEASE_MS}ms`, `--location.lease_margin=${MARGIN_MS}ms`,
  '--location.lease_renew_interval=200ms', '--location.lease_renew_timeout=200ms',
];

class Cluster {
  servers = [];

  constructor(directory) {
    this.directory = directory;
  }

  // The first one hosts all objects, as does one that is started in its place.
  async start({ isHost }) {
    const server = await ServerProcess.start('tictactoe', {
      directory: this.directory,
      flags: [
        '--mesh.listen=127.0.0.1:0', `--mesh.secret_file=${path.join(this.directory, 'secret')}`,
        `--node.placement_weight=${isHost ? 100 : 0}`, ...QUICK_LEASE,
      ],
    });
    this.servers.push(server);
    return server;
  }

  // Asks over and over; an answer takes its time.
  async untilAllSee(count) {
    const sees = async (server) => {
      const { nodes } = await (await fetch(`${server.admin}/v1/cluster`)).json();
      return nodes.length === count && nodes.every((node) => node.is_reachable);
    };
    for (const server of this.servers) while (!await sees(server));
  }
}

const withCluster = (work) => () => inTemporaryDirectory(async (directory) => {
  await writeFile(path.join(directory, 'secret'), 'known-to-every-node-of-the-test',
    { mode: 0o600 });
  const cluster = new Cluster(directory);
  try {
    const host = await cluster.start({ isHost: true });
    const gateways = [];
    for (let i = 0; i < 2; i += 1) gateways.push(await cluster.start({ isHost: false }));
    await cluster.untilAllSee(3);
    await work({ cluster, host, gateways });
  } catch (error) {
    for (const { output } of cluster.servers) error.message += `\n---- a server said:\n${output}`;
    throw error;
  } finally {
    await Promise.all(cluster.servers.map((server) => server.kill()));
  }
});

async function logIn(server, name) {
  const client = await StreamClient.open(server.url);
  const answer = await client.request('tictactoe.Login', {
    name, device_token: `a-token-that-only-${name}-knows`,
  });
  return { client, answer };
}

async function player(server, name) {
  const { client, answer } = await logIn(server, name);
  assert.equal(answer.packet, 'tictactoe.LoginResult', JSON.stringify(answer));
  return client;
}

async function place(client, cell) {
  const answer = await client.request('tictactoe.PlaceMark', { cell });
  assert.equal(answer.packet, 'tictactoe.PlaceMarkResult', JSON.stringify(answer));
}

const stateOf = async (client, isWanted) =>
  (await client.push('tictactoe.GameStateNotify', ({ state }) => isWanted(state))).state;

// Ann is X, Bob is O, and Ann has begun.
async function begin(ann, bob) {
  const opened = await ann.request('tictactoe.OpenRoom', { room: 'Den' });
  assert.equal(opened.packet, 'tictactoe.Entering', JSON.stringify(opened));
  await stateOf(ann, ({ phase }) => phase === 'Waiting');
  await bob.request('tictactoe.JoinRoom', { room: 'Den' });
  await stateOf(bob, ({ phase }) => phase === 'Playing');
  await place(ann, 4);
}

test('players at different gateways play a whole game in one room', { timeout: TEST_MS },
  withCluster(async ({ gateways: [here, there] }) => {
    const ann = await player(here, 'Ann');
    const bob = await player(there, 'Bob');
    await begin(ann, bob);
    for (const [client, cell] of [[bob, 0], [ann, 1], [bob, 2], [ann, 7]]) {
      await place(client, cell);
    }
    for (const client of [ann, bob]) {
      const state = await stateOf(client, ({ phase }) => phase === 'Finished');
      assert.deepEqual([state.outcome, state.winner], ['Win', 'X']);
    }
  }));

test('whose gateway is killed in the middle of a game goes on with it at another one',
  { timeout: TEST_MS },
  withCluster(async ({ host, gateways: [here, there] }) => {
    const ann = await player(here, 'Ann');
    const bob = await player(there, 'Bob');
    await begin(ann, bob);
    await there.kill();
    const again = await logIn(host, 'Bob');
    assert.equal(again.answer.payload?.is_resumed, true, JSON.stringify(again.answer));
    const { payload } = await again.client.request('tictactoe.Sync');
    assert.equal(payload.room?.cells[4], 'X');
    await place(again.client, 0);
    await stateOf(ann, (state) => state.last_cell === 0);
  }));

test('players whose node is killed are told so, and play again within seconds of its lease',
  { timeout: TEST_MS },
  withCluster(async ({ cluster, host, gateways: [here, there] }) => {
    const ann = await player(here, 'Ann');
    const bob = await player(there, 'Bob');
    await begin(ann, bob);
    await host.kill();
    cluster.servers.splice(0, 1);
    const killedAt = Date.now();
    await cluster.start({ isHost: true });
    for (const client of [ann, bob]) {
      await client.ended;
      assert.equal(client.close?.code, 4000);
      assert.match(client.close.reason, /server that your game was on is gone/);
    }
    // Each tries again, as pages do; what is refused meanwhile is refused in words.
    const comeBack = async (server, name) => {
      for (;;) {
        const { client, answer } = await logIn(server, name);
        if (answer.packet === 'tictactoe.LoginResult') return client;
        assert.equal(answer.error?.kind, 'Unavailable', JSON.stringify(answer));
        assert.doesNotMatch(answer.error.message, /node|lease|store/i);
        client.destroy();
      }
    };
    await begin(await comeBack(here, 'Ann'), await comeBack(there, 'Bob'));
    const tookMs = Date.now() - killedAt;
    console.log(`# a new game ${tookMs} ms after the kill; the lease lasts ${LEASE_MS} ms`);
    assert.ok(tookMs < LEASE_MS + MARGIN_MS + 10_000, `${tookMs} ms`);
  }));
