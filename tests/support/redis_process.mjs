// A redis-server of a test's own, on a free port of the loopback address and ended with the test.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

import { freePort } from './server_process.mjs';

const START_ATTEMPTS = 5;

export class RedisProcess {
  #directory;
  #process;

  // Resolves when it accepts connections. What it is told it keeps in `directory`.
  static async start(directory) {
    const redis = new RedisProcess();
    redis.#directory = directory;
    // Somebody else may take the port first.
    for (let attempt = 1; ; attempt += 1) {
      redis.port = await freePort();
      try {
        await redis.restart();
        return redis;
      } catch (error) {
        if (attempt === START_ATTEMPTS) throw error;
      }
    }
  }

  get url() {
    return `redis://127.0.0.1:${this.port}/0?prefix=game`;
  }

  // With what was there when it ended, on the same port.
  async restart() {
    this.#process = spawn('redis-server', [
      '--bind', '127.0.0.1', '--port', String(this.port), '--dir', this.#directory, '--save', '',
      '--appendonly', 'yes', '--appendfsync', 'always',
    ], { stdio: ['ignore', 'pipe', 'inherit'] });
    const failed = once(this.#process, 'error').then(([error]) => {
      throw new Error(`redis-server does not start, tools/setup.sh installs it: ${error.message}`);
    });
    await Promise.race([failed, this.#becomeReady()]);
  }

  async #becomeReady() {
    const said = [];
    for await (const line of createInterface({ input: this.#process.stdout })) {
      said.push(line);
      if (line.includes('Ready to accept connections')) {
        this.#process.stdout.resume();
        return;
      }
    }
    throw new Error(`redis-server ended:\n${said.join('\n')}`);
  }

  // Keeps its connections and answers nothing until it is thawed.
  freeze() {
    this.#process.kill('SIGSTOP');
  }

  thaw() {
    this.#process.kill('SIGCONT');
  }

  async kill() {
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) return;
    const ended = once(this.#process, 'exit');
    this.#process.kill('SIGKILL');
    await ended;
  }
}
