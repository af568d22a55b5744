// The admin endpoint of a real server process.
// contract: [OBS-01] [OBS-02]

import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import path from 'node:path';
import { test } from 'node:test';

import {
  ServerProcess, inTemporaryDirectory, sourceDirectory,
} from '../../support/server_process.mjs';
import { StreamClient } from '../../support/stream_client.mjs';

const TEST_MS = 60_000;
const TOKEN = 'a-token-for-operators-alone';

function withServer(options, work) {
  return () => inTemporaryDirectory(async (directory) => {
    const made = typeof options === 'function' ? await options(directory) : options;
    const server = await ServerProcess.start('tictactoe', { directory, ...made });
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

// Sends the target as it is, which fetch() would tidy up.
function ask(server, target, { method = 'GET', headers = {}, body } = {}) {
  const { hostname, port } = new URL(server.admin);
  return new Promise((resolve, reject) => {
    const asked = request({ hostname, port, path: target, method, headers }, (answer) => {
      let text = '';
      answer.setEncoding('utf8').on('data', (part) => {
        text += part;
      });
      answer.on('end', () => {
        const isJson = answer.headers['content-type']?.startsWith('application/json');
        resolve({
          status: answer.statusCode,
          headers: answer.headers,
          text,
          json: isJson && text ? JSON.parse(text) : undefined,
        });
      });
    });
    asked.on('error', reject);
    asked.end(body);
  });
}

async function json(server, target) {
  const answer = await ask(server, target);
  assert.equal(answer.status, 200, answer.text);
  return answer.json;
}

async function walk(server, list, parameters = '') {
  const rows = [];
  let cursor = '';
  do {
    const page = await json(server, `/v1/${list}?limit=2${parameters}${cursor}`);
    assert.ok(page[list].length <= 2);
    rows.push(...page[list]);
    cursor = page.next === null ? null : `&cursor=${page.next}`;
  } while (cursor !== null);
  return rows;
}

async function player(server, name) {
  const client = await StreamClient.open(server.url);
  const answer = await client.request('tictactoe.Login', {
    name, device_token: `a-token-that-only-somebody-knows-${Buffer.from(name).toString('hex')}`
      .slice(0, 60),
  });
  assert.equal(answer.packet, 'tictactoe.LoginResult', JSON.stringify(answer));
  return client;
}

async function metrics(server) {
  const answer = await ask(server, '/metrics');
  assert.equal(answer.status, 200);
  assert.match(answer.headers['content-type'], /^text\/plain; version=0\.0\.4/);
  const samples = new Map();
  for (const line of answer.text.split('\n').filter((each) => each && !each.startsWith('#'))) {
    const [, name, labels = '', value] = /^(\w+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? [];
    assert.ok(name, `no sample: ${line}`);
    assert.ok(!samples.has(`${name}{${labels}}`), `twice: ${line}`);
    samples.set(`${name}{${labels}}`, Number(value));
  }
  return { samples, text: answer.text };
}

test('a server that serves is alive and ready, and tells of itself', { timeout: TEST_MS },
  withServer({ flags: ['--node.version=1.2.3'] }, async (server) => {
    assert.equal((await json(server, '/healthz')).status, 'ok');
    assert.equal((await json(server, '/readyz')).status, 'ready');
    const { node, nodes } = await json(server, '/v1/cluster');
    assert.equal(nodes.length, 1);
    assert.equal(nodes[0].node, node);
    assert.equal(nodes[0].state, 'Serving');
    assert.equal(nodes[0].version, '1.2.3');
    assert.deepEqual(nodes[0].meshes[0].actors, { active: 0, pending: 0, limit: null });
    assert.match(server.output, /"limits of this process" open_files=\d+/);
  }));

test('players, rooms and sessions are told page by page, whatever they are called',
  { timeout: TEST_MS },
  withServer({}, async (server) => {
    const names = ['Ann', 'a/b', 'x%2Fy', 'q?z=1&y#2', '한글 이름', 'Zoë 😀'];
    const clients = [];
    for (const name of names) clients.push(await player(server, name));
    await clients[0].request('tictactoe.OpenRoom', { room: 'Den/1' });
    await clients[0].push('tictactoe.GameStateNotify');

    const actors = await walk(server, 'actors');
    assert.equal(actors.length, names.length);
    assert.equal(new Set(actors.map(({ id }) => id)).size, names.length);
    for (const actor of actors) {
      const byPath = await json(server, `/v1/actors/${encodeURIComponent(actor.id)}`);
      assert.equal(byPath.id, actor.id);
      const byQuery = await json(server, `/v1/actors?id=${encodeURIComponent(actor.id)}`);
      assert.deepEqual(byQuery.actors.map(({ id }) => id), [actor.id]);
      assert.equal(actor.type, 'tictactoe.player');
      assert.equal(actor.mesh, 'play');
      assert.equal(actor.state, 'Ready');
      assert.match(actor.object_generation, /^\d+$/);
      assert.ok(actor.spot.id);
      assert.match(actor.binding.session, /^[0-9a-f]{32}$/);
      assert.deepEqual(
        [actor.mailbox.application, actor.mailbox.control, actor.mailbox.turn], [0, 0, null]);
    }
    for (const name of names) {
      // The game folds the case of names.
      const isIt = ({ id }) => id.toLowerCase().includes(name.toLowerCase());
      assert.ok(actors.some(isIt), `nobody is called ${name}: ${actors.map(({ id }) => id)}`);
    }
    const rooms = await walk(server, 'spots', '&type=tictactoe.room');
    assert.equal(rooms.length, 1);
    assert.match(rooms[0].id, /den\/1/i);
    assert.equal(rooms[0].members, 1);
    assert.ok(actors.some(({ spot }) => spot.id === rooms[0].id));
    assert.deepEqual((await json(server, '/v1/actors?mesh=elsewhere')).actors, []);

    const sessions = await walk(server, 'sessions');
    assert.equal(sessions.length, names.length);
    const bound = actors.find(({ binding }) => binding.session === sessions[0].id);
    assert.deepEqual(sessions[0].actors.map(({ id }) => id), [bound.id]);
    assert.equal(sessions[0].state, 'Open');
    assert.match(sessions[0].remote_address, /^127\.0\.0\.1:\d+$/);
  }));

test('metrics count what happens, and name no player, room or session', { timeout: TEST_MS },
  withServer({}, async (server) => {
    const before = await metrics(server);
    const ann = await player(server, 'Ann the Unmistakable');
    await ann.request('tictactoe.OpenRoom', { room: 'Unmistakable Den' });
    await ann.push('tictactoe.GameStateNotify');
    await ann.request('tictactoe.PlaceMark', { cell: 100 });
    const after = await metrics(server);
    const [session] = await walk(server, 'sessions');
    for (const text of [before.text, after.text]) {
      for (const id of ['nmistakable', session.id, 'node-']) assert.ok(!text.includes(id), id);
    }
    const labels = new Set([...after.text.matchAll(/[{,](\w+)="/g)].map(([, name]) => name));
    const allowed = ['direction', 'kind', 'lane', 'mesh', 'operation', 'reason', 'result', 'state',
      'surface', 'type', 'version'];
    assert.deepEqual([...labels].sort(), allowed);
    const page = await readFile(
      path.join(sourceDirectory, 'framework/docs/observability.md'), 'utf8');
    for (const [, family] of after.text.matchAll(/^# TYPE (\w+) /gm)) {
      assert.ok(page.includes(`\`${family}\``), `${family} stands in no table`);
    }
    const value = (name) => after.samples.get(name);
    assert.equal(value('spotmesh_mesh_node_state{state="Serving"}'), 1);
    assert.equal(value('spotmesh_mesh_node_responsive{}'), 1);
    assert.equal(value('spotmesh_mesh_node_requests_inflight{surface="actor"}'), 0);
    assert.equal(value('spotmesh_stream_sessions{}'), 1);
    assert.equal(
      value('spotmesh_objects{mesh="play",kind="actor",type="tictactoe.player"}'), 1);
    assert.equal(
      value('spotmesh_actors_bound{mesh="play",kind="actor",type="tictactoe.player"}'), 1);
    assert.equal(value('spotmesh_mailbox_jobs{mesh="play",kind="actor",'
      + 'type="tictactoe.player",lane="application"}'), 0);
    assert.equal(value('spotmesh_object_dispatch_total{result="handler_error"}'), 1);
    assert.ok(value('spotmesh_object_dispatch_total{result="handled"}') > 0);
    assert.ok(value('process_open_fds{}') > 0);
    for (const [name, number] of after.samples) {
      assert.ok(Number.isFinite(number), name);
      if (name.includes('_total')) assert.ok(number >= (before.samples.get(name) ?? 0), name);
    }
  }));

test('what is asked in the wrong way is told what is right', { timeout: TEST_MS },
  withServer({}, async (server) => {
    const cases = [
      [400, '/v1/actors?limit=0', {}, /from 1 to 1000/],
      [400, '/v1/actors?cursor=x', {}, /cursor/],
      [400, '/v1/actors?colour=red', {}, /'colour'.*limit, cursor/],
      [400, '/v1/actors/%zz', {}, /percent sign/],
      [400, '/v1/actors/%ff', {}, /UTF-8/],
      [400, `/v1/actors/${'x'.repeat(256)}`, {}, /ActorId/],
      [400, '/v1/shutdown?deadline=soon', { method: 'POST' }, /deadline is a duration/],
      [404, '/', {}, /there are \/healthz/],
      [404, '/v1/actors/a/b', {}, /there are \/healthz/],
      [404, '/v1/actors/nobody', {}, /Actor 'nobody'/],
      [404, '/v1/../etc/passwd', {}, /nothing at this path/],
      [405, '/v1/shutdown', {}, /takes POST alone/],
      [405, '/metrics', { method: 'DELETE' }, /takes GET and HEAD alone/],
      [413, '/v1/shutdown', { method: 'POST', body: '{}' }, /no body/],
      [431, `/${'x'.repeat(9000)}`, {}, /at most 8192 bytes/],
      [403, '/healthz', { headers: { Host: 'game.example' } }, /another host/],
      [403, '/v1/shutdown', { method: 'POST', headers: { Origin: 'http://game.example' } },
        /other origins/],
    ];
    for (const [status, target, how, told] of cases) {
      const answer = await ask(server, target, how);
      assert.equal(answer.status, status, `${target}: ${answer.text}`);
      assert.match(answer.json.error, told);
    }
    assert.equal((await ask(server, '/v1/shutdown')).headers.allow, 'POST');
    const head = await ask(server, '/healthz', { method: 'HEAD' });
    assert.deepEqual([head.status, head.text], [200, '']);
  }));

const tokenFile = async (directory) => {
  const file = path.join(directory, 'token');
  await writeFile(file, `${TOKEN}\n`);
  return { admin: '0.0.0.0:0', flags: [`--admin.token_file=${file}`] };
};
const tokenInEnvironment = { environment: { SPOTMESH_ADMIN_TOKEN: TOKEN } };

for (const [where, options] of [
  ['file', tokenFile], ['environment', tokenInEnvironment],
]) {
  test(`with a token from the ${where}, nothing is told without it`, { timeout: TEST_MS },
    withServer(options, async (server) => {
      server.admin = server.admin.replace('0.0.0.0', '127.0.0.1');
      for (const target of ['/healthz', '/metrics', '/v1/actors', '/nowhere']) {
        for (const headers of [
          {}, { Authorization: 'Bearer wrong' }, { Authorization: `Basic ${TOKEN}` },
        ]) {
          const answer = await ask(server, target, { headers });
          assert.equal(answer.status, 401);
          assert.match(answer.headers['www-authenticate'], /^Bearer/);
          assert.match(answer.json.error, /token|Bearer/);
        }
      }
      const authorization = { Authorization: `Bearer ${TOKEN}`, Host: 'node.example' };
      assert.equal((await ask(server, '/readyz', { headers: authorization })).status, 200);
      assert.ok(!server.output.includes(TOKEN));
    }));
}

test('a server that is told to shut down does so in order, and is not ready meanwhile',
  { timeout: TEST_MS },
  withServer({}, async (server) => {
    const ann = await player(server, 'Ann');
    const answer = await ask(server, '/v1/shutdown?deadline=5s', { method: 'POST' });
    assert.equal(answer.status, 202);
    assert.deepEqual(await server.ended, { code: 0, signal: null });
    await ann.ended;
    assert.equal(ann.close?.code, 1001);
    assert.match(server.output, /admin "the node was told to shut down"/);
    await assert.rejects(ask(server, '/healthz'));
  }));

test('SIGTERM ends a server in order, whoever is connected to its admin endpoint',
  { timeout: TEST_MS },
  withServer({}, async (server) => {
    const { hostname, port } = new URL(server.admin);
    const headers = { Connection: 'keep-alive' };
    const held = request({ hostname, port, path: '/healthz', headers });
    held.on('error', () => {});
    held.flushHeaders();
    assert.deepEqual(await server.stop(), { code: 0, signal: null });
  }));

test('a port that is taken stops the start, and the message says what to set',
  { timeout: TEST_MS },
  withServer({}, async (server) => {
    const { host } = new URL(server.admin);
    await inTemporaryDirectory((directory) => assert.rejects(
      ServerProcess.start('tictactoe', { directory, admin: host }),
      /the admin endpoint: .*cannot listen on 127\.0\.0\.1:\d+.*set admin\.listen/s));
  }));
