// samples/run.sh as a newcomer uses it.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';

import { sourceDirectory } from '../../support/server_process.mjs';

const TEST_MS = 120_000;

class Script {
  lines = [];
  #waiting = [];

  constructor(...parameters) {
    // A group of its own, so that whatever it leaves behind can be found.
    this.process = spawn(path.join(sourceDirectory, 'samples/run.sh'), parameters, {
      detached: true,
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

async function isServed(url) {
  try {
    return (await fetch(url)).ok;
  } catch {
    return false;
  }
}

test('the demo plays whole matches, says so, and leaves nothing running', { timeout: TEST_MS },
  async () => {
    const script = new Script('tictactoe', '--demo');
    assert.equal(await script.ended, 0, script.output);
    for (const told of ['Ann wins', 'a draw', 'run out', 'walks out', 'as the rules say']) {
      assert.ok(script.output.includes(told), `"${told}" is missing in:\n${script.output}`);
    }
    assert.ok(script.lines.filter((line) => /[XO.]{3} [XO.]{3} [XO.]{3}$/.test(line)).length > 15);
    assert.deepEqual(script.leftovers(), []);
  });

test('a game is served until Ctrl-C, by as many servers as are asked for', { timeout: TEST_MS },
  async () => {
    const script = new Script('tictactoe', '--port', '0', '--nodes', '2');
    await script.line(/^Open http.*$/);
    let urls = [];
    while (urls.length < 2) {
      await script.line(new RegExp(`^Open (?!${urls[0] ?? 'none'})`));
      urls = script.lines.map((line) => /^Open (\S+)/.exec(line)?.[1]).filter(Boolean);
    }
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

test('what does not exist yet is said to be so', { timeout: TEST_MS }, async () => {
  for (const [parameters, told] of [
    [['bingo'], /bingo does not exist yet/],
    [['tictactoe', '--store', 'redis'], /redis does not exist yet/],
    [['tictactoe', '--demo', '--rolling'], /--rolling needs/],
    [['tictactoe', '--nodes', '3'], /more than 2/],
    [['tictactoe', '--nodes', 'two'], /takes a number/],
    [['tictactoe', '--port', '65536'], /below 65536/],
    [['tictactoe', '--colour'], /unknown argument/],
    [[], /which sample/],
  ]) {
    const script = new Script(...parameters);
    assert.equal(await script.ended, 2, parameters.join(' '));
    assert.match(script.output, told);
  }
});
