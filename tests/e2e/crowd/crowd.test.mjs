// Two thousand clients in two hundred rooms, of whom one percent stop reading. One server process
// serves both halves, so that its noise is measured and not guessed.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';

import {
  binDirectory, inTemporaryDirectory, serverEnvironment,
} from '../../support/server_process.mjs';

const TEST_MS = 150_000;
const OUTBOUND_BYTES = 64 * 1024;
// What a session that is about to be ended may hold: twice the bound, and what its frames cost
// beside their bytes.
const MOST_BYTES_OF_A_DEAF_SESSION = 3 * OUTBOUND_BYTES;
// A heap that breathes: 2,000 sessions that are served a little sooner or later.
const MEMORY_NOISE_BYTES = 16 * 1024 * 1024;
// A machine with neighbours makes one phase wait and not the next.
const P99_FACTOR = 2;
const P99_NOISE_MS = 10;

const FLAGS = [
  '--stream.port=0', '--stream.tcp=127.0.0.1:0', '--admin.listen=127.0.0.1:0',
  `--stream.outbound_bytes=${OUTBOUND_BYTES}`, '--stream.outbound_age=1s',
  '--stream.slow_reader_time=10s',
];

async function linesOf(child) {
  const lines = [];
  for await (const line of createInterface({ input: child.stdout })) lines.push(line);
  return lines;
}

async function startServer(directory) {
  const server = spawn(path.join(binDirectory, 'gateway_server'),
    [...FLAGS, `--location.store=sqlite:${path.join(directory, 'cluster.db')}`],
    { cwd: directory, env: serverEnvironment, stdio: ['ignore', 'pipe', 'pipe'] });
  server.stderr.resume();
  for await (const line of createInterface({ input: server.stdout })) {
    const port = /^ready: .*tcp:\/\/127\.0\.0\.1:(\d+)/.exec(line)?.[1];
    if (port) return { server, port };
  }
  throw new Error('the server ended before it was ready');
}

async function phasesOf(server, port) {
  const crowd = spawn(path.join(binDirectory, 'crowd'),
    ['--port', port, '--pid', String(server.pid), '--phases', '6'],
    { stdio: ['ignore', 'pipe', 'inherit'] });
  const [lines, [code]] = await Promise.all([linesOf(crowd), once(crowd, 'exit')]);
  assert.equal(code, 0, 'the crowd says what went wrong');
  return lines.map((line) => JSON.parse(line));
}

const median = (values) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];
const most = (phases) => Math.max(...phases.map((phase) => phase.most_resident_bytes));

test('one percent of 2,000 clients that stop reading cost bounded memory and delay nobody, and '
  + '500 pushes of one turn reach a healthy client', { timeout: TEST_MS },
() => inTemporaryDirectory(async (directory) => {
  const { server, port } = await startServer(directory);
  try {
    const phases = await phasesOf(server, port);
    for (const phase of phases) console.log(`# ${JSON.stringify(phase)}`);
    const without = phases.filter((phase) => !phase.has_deaf);
    const deaf = phases.filter((phase) => phase.has_deaf);
    assert.equal(without.length, deaf.length);
    for (const phase of deaf) {
      // Those of the loud rooms reach their bound within a phase; whoever is left has not yet.
      assert.equal(phase.told + phase.cut + phase.alive, phase.deaf_sessions);
      assert.ok(phase.told + phase.cut >= phase.deaf_sessions / 4, JSON.stringify(phase));
      const bound = most(without) + phase.deaf_sessions * MOST_BYTES_OF_A_DEAF_SESSION
        + MEMORY_NOISE_BYTES;
      assert.ok(phase.most_resident_bytes <= bound, `${JSON.stringify(phase)} above ${bound}`);
    }
    const base = median(without.map((phase) => phase.p99_ms));
    const beside = median(deaf.map((phase) => phase.p99_ms));
    assert.ok(beside <= P99_FACTOR * base + P99_NOISE_MS,
      `p99 ${beside} ms beside deaf clients, ${base} ms without`);
  } finally {
    server.kill('SIGKILL');
  }
}));
