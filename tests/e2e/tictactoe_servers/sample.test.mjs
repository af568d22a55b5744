// samples/run.sh and samples/new.sh as a newcomer uses them.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, readdirSync } from 'node:fs';
import { cp, mkdir, readFile, readdir, symlink } from 'node:fs/promises';
import { createServer } from 'node:net';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';

import {
  binDirectory, inTemporaryDirectory, sourceDirectory,
} from '../../support/server_process.mjs';

const TEST_MS = 120_000;

class Script {
  lines = [];
  #waiting = [];

  constructor(file, parameters, environment = {}) {
    // A group of its own, so that whatever it leaves behind can be found.
    this.process = spawn(file, parameters, {
      detached: true,
      env: { ...process.env, ...environment },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    for (const stream of [this.process.stdout, this.process.stderr]) {
      createInterface({ input: stream }).on('line', (line) => this.#take(line));
    }
    this.ended = new Promise((resolve) => {
      this.process.once('close', (code) => resolve(code));
    });
  }

  get output() {
    return this.lines.join('\n');
  }

  async line(pattern) {
    const found = this.lines.find((line) => pattern.test(line));
    if (found) return found;
    return Promise.race([
      new Promise((resolve) => {
        this.#waiting.push({ pattern, resolve });
      }),
      this.ended.then((code) => {
        throw new Error(`ended with ${code} before ${pattern}:\n${this.output}`);
      }),
    ]);
  }

  interrupt() {
    process.kill(-this.process.pid, 'SIGINT');
  }

  // What still runs in its process group.
  leftovers() {
    const group = String(this.process.pid);
    return readdirSync('/proc').filter((entry) => /^\d+$/.test(entry)).filter((entry) => {
      try {
        const stat = readFileSync(`/proc/${entry}/stat`, 'utf8');
        const [state, , pgrp] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
        return pgrp === group && state !== 'Z';
      } catch {
        return false; // it has ended while we looked
      }
    });
  }

  #take(line) {
    this.lines.push(line);
    for (const { pattern, resolve } of this.#waiting) {
      if (pattern.test(line)) resolve(line);
    }
  }
}

const runSample = (...parameters) =>
  new Script(path.join(sourceDirectory, 'samples/run.sh'), parameters);

async function isServed(url) {
  try {
    return (await fetch(url)).ok;
  } catch {
    return false;
  }
}

test('the demo plays whole matches, says so, and leaves nothing running', { timeout: TEST_MS },
  async () => {
    const script = runSample('tictactoe', '--demo', '--nodes', '3');
    assert.equal(await script.ended, 0, script.output);
    assert.ok(script.output.includes('They have come to 3 servers'), script.output);
    for (const told of ['Ann wins', 'a draw', 'run out', 'walks out', 'as the rules say']) {
      assert.ok(script.output.includes(told), `"${told}" is missing in:\n${script.output}`);
    }
    assert.ok(script.lines.filter((line) => /[XO.]{3} [XO.]{3} [XO.]{3}$/.test(line)).length > 15);
    assert.deepEqual(script.leftovers(), []);
  });

test('the demo plays on three nodes that share a Redis, and ends that too', { timeout: TEST_MS },
  async () => {
    const script = runSample('tictactoe', '--demo', '--nodes', '3', '--store', 'redis');
    assert.equal(await script.ended, 0, script.output);
    assert.ok(script.output.includes('They have come to 3 servers'), script.output);
    assert.deepEqual(script.leftovers(), []);
  });

test('a game is served until Ctrl-C, by as many servers as are asked for', { timeout: TEST_MS },
  async () => {
    const script = runSample('tictactoe', '--port', '0', '--nodes', '3');
    await script.line(/^Open http.*$/);
    let urls = [];
    while (urls.length < 3) {
      await script.line(new RegExp(`^Open (?!${urls.join('|') || 'none'})`));
      urls = script.lines.map((line) => /^Open (\S+)/.exec(line)?.[1]).filter(Boolean);
    }
    const places = await script.line(/^Who is there, and how much: /);
    const [actors, metrics] = places.match(/http\S+/g);
    assert.match(await (await fetch(actors)).text(), /"actors":\[\]/);
    assert.match(await (await fetch(metrics)).text(), /^spotmesh_mesh_node_state/m);
    for (const url of urls) {
      const page = await fetch(url);
      assert.equal(page.status, 200);
      assert.match(await page.text(), /<title>TicTacToe<\/title>/);
    }
    script.interrupt();
    assert.equal(await script.ended, 0, script.output);
    for (const url of urls) assert.equal(await isServed(url), false);
    assert.deepEqual(script.leftovers(), []);
  });

test('a game for the network is told by an address that others can type', { timeout: TEST_MS },
  async () => {
    const script = runSample('tictactoe', '--host', '0.0.0.0', '--port', '0');
    const url = new URL(/^Open (\S+)/.exec(await script.line(/^Open http/))[1]);
    assert.notEqual(url.hostname, '0.0.0.0');
    assert.ok(await isServed(`http://127.0.0.1:${url.port}/`));
    script.interrupt();
    assert.equal(await script.ended, 0, script.output);
  });

test('a port that another server has is told, and how to take another one', { timeout: TEST_MS },
  async () => {
    const other = createServer().listen(0, '127.0.0.1');
    try {
      await once(other, 'listening');
      const port = String(other.address().port);
      const script = runSample('tictactoe', '--port', port);
      assert.equal(await script.ended, 1, script.output);
      assert.match(script.output, new RegExp(`^run.sh: port ${port} is taken.*--port 0`, 'm'));
      assert.deepEqual(script.leftovers(), []);
    } finally {
      other.close();
    }
  });

test('a port that is taken where operators look is told apart', { timeout: TEST_MS },
  async () => {
    const other = createServer().listen(0, '127.0.0.1');
    try {
      await once(other, 'listening');
      const { port } = other.address();
      const script = runSample('tictactoe', '--port', String(port - 1000));
      assert.equal(await script.ended, 1, script.output);
      const told = new RegExp(`^run.sh: port ${port}, for operators, is taken`, 'm');
      assert.match(script.output, told);
    } finally {
      other.close();
    }
  });

test('what does not exist yet is said to be so', { timeout: TEST_MS }, async () => {
  for (const [parameters, told] of [
    [['bingo'], /bingo does not exist yet/],
    [['tictactoe', '--store', 'mysql'], /takes sqlite or redis/],
    [['tictactoe', '--demo', '--rolling'], /--rolling needs/],
    [['tictactoe', '--nodes', '17'], /takes 1 to 16/],
    [['tictactoe', '--nodes', 'two'], /takes a number/],
    [['tictactoe', '--port', '65536'], /below 65536/],
    [['tictactoe', '--host'], /takes an address/],
    [['chess'], /no game in samples\/chess/],
    [['tictactoe', '--colour'], /unknown argument/],
    [[], /which sample/],
  ]) {
    const script = runSample(...parameters);
    assert.equal(await script.ended, 2, parameters.join(' '));
    assert.match(script.output, told);
  }
});

async function filesBelow(folder) {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) =>
    path.join(entry.parentPath ?? entry.path, entry.name));
}

test('a game of one\'s own begins as TicTacToe under another name, and is run by it',
  { timeout: TEST_MS },
  () => inTemporaryDirectory(async (root) => {
    // Without games of one's own that may stand beside them.
    for (const part of ['.clang-format', 'samples/new.sh', 'samples/run.sh', 'samples/tictactoe']) {
      await cp(path.join(sourceDirectory, part), path.join(root, part), { recursive: true });
    }
    const begin = (name) => new Script(path.join(root, 'samples/new.sh'), [name]);
    const script = begin('checkers');
    assert.equal(await script.ended, 0, script.output);
    assert.match(script.output, /run\.sh checkers/);

    const game = path.join(root, 'samples/checkers');
    const files = await filesBelow(game);
    assert.equal(files.length, (await filesBelow(path.join(root, 'samples/tictactoe'))).length);
    for (const file of files) {
      assert.doesNotMatch(`${file} ${await readFile(file, 'utf8')}`, /tictactoe/i, file);
    }
    assert.match(await readFile(path.join(game, 'schema/checkers.fbs'), 'utf8'),
      /^namespace checkers;$/m);
    const formatter = new Script('clang-format-19', ['--dry-run', '-Werror',
      ...files.filter((file) => /\.[ch]pp$/.test(file))]);
    assert.equal(await formatter.ended, 0, formatter.output);

    const bin = path.join(root, 'bin');
    await mkdir(bin);
    await symlink(path.join(binDirectory, 'tictactoe-server'), path.join(bin, 'checkers-server'));
    const served = new Script(path.join(root, 'samples/run.sh'), ['checkers', '--port', '0'], {
      SPOTMESH_BIN_DIR: bin,
    });
    const url = /^Open (\S+)/.exec(await served.line(/^Open http/))[1];
    assert.match(await (await fetch(url)).text(), /<title>Checkers<\/title>/);
    served.interrupt();
    assert.equal(await served.ended, 0, served.output);

    const taken = ['internal', 'spotmesh', 'table', 'class', 'time', 'main', 'link'];
    for (const name of ['checkers', 'Chess', 'my-game', '../evil', '', ...taken]) {
      assert.equal(await begin(name).ended, 2, `'${name}'`);
    }
  }));
