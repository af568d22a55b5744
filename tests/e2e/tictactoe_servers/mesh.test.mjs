// Real server processes that are linked to each other.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { ServerProcess, inTemporaryDirectory } from '../../support/server_process.mjs';

const TEST_MS = 60_000;
const linked = {
  flags: ['--mesh.listen=127.0.0.1:0'],
  environment: { SPOTMESH_MESH_SECRET: 'known-to-every-node-of-the-test' },
};

async function cluster(server) {
  const answer = await fetch(`${server.admin}/v1/cluster`);
  assert.equal(answer.status, 200);
  return (await answer.json()).nodes;
}

// Asks over and over; an answer takes its time.
async function until(condition) {
  let holds = false;
  while (!holds) holds = await condition();
}

test('two nodes find and reach each other', { timeout: TEST_MS },
  () => inTemporaryDirectory(async (directory) => {
    const servers = [];
    try {
      for (let i = 0; i < 2; i += 1) {
        servers.push(await ServerProcess.start('tictactoe', { directory, ...linked }));
      }
      for (const server of servers) {
        await until(async () => (await cluster(server)).length === 2);
        const nodes = await cluster(server);
        assert.deepEqual(nodes.map((node) => node.state), ['Serving', 'Serving']);
        assert.deepEqual(nodes.map((node) => node.is_reachable), [true, true]);
        assert.equal(new Set(nodes.map((node) => node.address)).size, 2);
        for (const node of nodes) assert.match(node.address, /^127\.0\.0\.1:[1-9]\d*$/);
      }
      // Who stops says so, and is listed no more.
      assert.deepEqual(await servers[1].stop(), { code: 0, signal: null });
      await until(async () => (await cluster(servers[0])).length === 1);
    } finally {
      await Promise.all(servers.map((server) => server.kill()));
    }
  }));

test('a node whose address does not lead to it ends, and says which address it is',
  { timeout: TEST_MS },
  () => inTemporaryDirectory(async (directory) => {
    const start = ServerProcess.start('tictactoe', {
      directory, ...linked, flags: [...linked.flags, '--mesh.advertise=127.0.0.1:1'],
    });
    await assert.rejects(start, (error) => {
      assert.match(error.message, /"code":1\b/);
      assert.match(error.message, /its address '127\.0\.0\.1:1' does not lead to it/);
      return true;
    });
  }));
