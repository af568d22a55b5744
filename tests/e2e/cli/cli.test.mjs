// The spotmesh command on a live cluster of two real nodes, one of which is killed in the end.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';

import {
  ServerProcess, binDirectory, inTemporaryDirectory, serverEnvironment,
} from '../../support/server_process.mjs';
import { StreamClient } from '../../support/stream_client.mjs';

const TEST_MS = 60_000;
const NAME = 'O\'Brien "/%20" ☃';
const LINKED = {
  environment: { SPOTMESH_MESH_SECRET: 'known-to-every-node-of-the-test' },
};
const QUICK_LEASE = [
  '--location.lease_ttl=900ms', '--location.lease_renew_interval=200ms',
  '--location.lease_renew_timeout=200ms', '--location.lease_margin=200ms',
];

function start(...parameters) {
  return spawn(path.join(binDirectory, 'spotmesh'), parameters, { env: serverEnvironment });
}

// Resolves to {code, out, err}.
async function spotmesh(...parameters) {
  const command = start(...parameters);
  const said = { out: '', err: '' };
  command.stdout.on('data', (bytes) => { said.out += bytes; });
  command.stderr.on('data', (bytes) => { said.err += bytes; });
  const [code] = await once(command, 'close');
  return { code, ...said };
}

// A command that goes on until it is killed.
class Watch {
  #lines;

  constructor(admin) {
    this.process = start('watch', '--admin', admin);
    this.#lines = createInterface({ input: this.process.stdout })[Symbol.asyncIterator]();
  }

  // The next line like that; those before it are taken.
  async line(pattern) {
    for (;;) {
      const { value, done } = await this.#lines.next();
      if (done) throw new Error(`it ended before ${pattern}`);
      if (pattern.test(value)) return value;
    }
  }
}

async function logIn(server) {
  const client = await StreamClient.open(server.url);
  const answer = await client.request('tictactoe.Login', {
    name: NAME, device_token: 'a-token-that-only-one-knows',
  });
  assert.equal(answer.packet, 'tictactoe.LoginResult', JSON.stringify(answer));
  return client;
}

// One document a line.
const documents = ({ out }) => out.trim().split('\n').map((text) => JSON.parse(text));

const withCluster = (work) => () => inTemporaryDirectory(async (directory) => {
  const servers = [];
  try {
    for (const weight of [100, 0]) {
      servers.push(await ServerProcess.start('tictactoe', {
        directory,
        ...LINKED,
        flags: ['--mesh.listen=127.0.0.1:0', `--node.placement_weight=${weight}`, ...QUICK_LEASE],
      }));
    }
    for (const { admin } of servers) {
      let nodes = [];
      while (nodes.length < 2 || nodes.some((node) => !node.is_reachable)) {
        nodes = (await (await fetch(`${admin}/v1/cluster`)).json()).nodes;
      }
    }
    await work(servers);
  } catch (error) {
    for (const { output } of servers) error.message += `\n---- a server said:\n${output}`;
    throw error;
  } finally {
    await Promise.all(servers.map((server) => server.kill()));
  }
});

test('any node tells of all, whatever names people choose', { timeout: TEST_MS },
  withCluster(async ([host, gateway]) => {
    const client = await logIn(gateway);
    await client.request('tictactoe.OpenRoom', { room: 'Den' });
    await client.push('tictactoe.GameStateNotify');
    for (const { admin } of [host, gateway]) {
      const nodes = await spotmesh('nodes', '--admin', admin);
      assert.equal(nodes.code, 0, nodes.err);
      assert.equal(nodes.out.match(/ Serving /g)?.length, 2, nodes.out);
      const actors = await spotmesh('actors', '--json', '--admin', admin);
      assert.deepEqual(documents(actors).map((actor) => actor.id),
        [`tictactoe.player/${NAME.toLowerCase()}`]);
      const spots = await spotmesh('spots', '--admin', admin);
      assert.match(spots.out, /^tictactoe\.room\/den /m);
      const sessions = await spotmesh('sessions', '--json', '--admin', admin);
      assert.equal(documents(sessions).length, 1);
      const [{ id: actor }] = documents(actors);
      const [{ id: session }] = documents(sessions);
      const whyActor = await spotmesh('why', 'actor', actor, '--admin', admin);
      assert.equal(whyActor.code, 0, whyActor.err);
      assert.match(whyActor.out, /Ready in Spot tictactoe\.room\/den/);
      assert.ok(whyActor.out.replaceAll(/\s+/g, ' ').includes(session), whyActor.out);
      const whySession = await spotmesh('why', 'session', session, '--admin', admin);
      assert.equal(whySession.code, 0, whySession.err);
      assert.match(whySession.out, /is Open at gateway/);
    }
    const nobody = await spotmesh('why', 'actor', 'nobody', '--admin', host.admin);
    assert.equal(nobody.code, 1);
    assert.match(nobody.out + nobody.err, /has no Actor nobody/);
  }));

test('a watcher sees what happens at every node', { timeout: TEST_MS },
  withCluster(async ([host, gateway]) => {
    const watch = new Watch(host.admin);
    try {
      await watch.line(/^watching /);
      const client = await logIn(gateway);
      assert.match(await watch.line(/ session\.opened /), /client=127\.0\.0\.1:/);
      await watch.line(/ actor\.created /);
      await watch.line(/ actor\.bound /);
      client.destroy();
      await watch.line(/ session\.closed /);
    } finally {
      watch.process.kill();
    }
  }));

test('a node is shut down from another one, and one that is dead is told as such',
  { timeout: TEST_MS },
  withCluster(async ([host, gateway]) => {
    const [own] = documents(await spotmesh('nodes', '--json', '--admin', gateway.admin))
      .filter((node) => node.is_self);
    const stopped = await spotmesh('shutdown', own.node, '--admin', host.admin);
    assert.equal(stopped.code, 0, stopped.err);
    assert.deepEqual(await gateway.ended, { code: 0, signal: null });
    await host.kill();
    const dead = await spotmesh('nodes', '--admin', host.admin);
    assert.equal(dead.code, 1);
    assert.match(dead.err, /refused/i);
  }));

test('wrong usage is told with what is right', { timeout: TEST_MS }, async () => {
  for (const parameters of [[], ['dance'], ['why', 'actor'], ['nodes', '--admin', 'nowhere']]) {
    const { code, err } = await spotmesh(...parameters);
    assert.equal(code, 2, parameters.join(' '));
    assert.ok(err.length > 10, parameters.join(' '));
  }
  const help = await spotmesh('why', '--help');
  assert.equal(help.code, 0);
  assert.match(help.out, /Example: spotmesh why/);
});
