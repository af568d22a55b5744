// A sample's server as a real process, for end-to-end tests: on a free port, with a Location Store
// of its own unless it is given one.

import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';

const required = (name) => {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is not set: run this through ctest`);
  return value;
};

export const binDirectory = required('SPOTMESH_BIN_DIR');
export const sourceDirectory = required('SPOTMESH_SOURCE_DIR');

// What tests are told through the environment is no setting of a server.
export const serverEnvironment = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !name.startsWith('SPOTMESH_')));

const TCP = /^ready: .*tcp:\/\/127\.0\.0\.1:(\d+)/;
const ADMIN = /^admin: (http:\/\/\S+)\/$/;
const READY = /^ready: .*http:\/\/127\.0\.0\.1:(\d+)/;

// A port that was free a moment ago, for a server that has to come back on the same one.
export async function freePort() {
  const probe = createServer();
  await new Promise((resolve) => probe.listen(0, '127.0.0.1', resolve));
  const { port } = probe.address();
  await new Promise((resolve) => probe.close(resolve));
  return port;
}

export async function temporaryDirectory() {
  return mkdtemp(path.join(tmpdir(), 'spotmesh-e2e-'));
}

export class ServerProcess {
  #process;
  #ended;
  #lines = [];
  #heard = [];

  // Resolves when the server says that it serves; rejects with all it said when it ends before.
  static async start(sample, {
    directory, port = 0, admin = '127.0.0.1:0', flags = [], environment = {},
    store = `sqlite:${path.join(directory, 'cluster.db')}`,
  }) {
    const server = new ServerProcess();
    server.#process = spawn(
      path.join(binDirectory, `${sample}-server`),
      [
        `--stream.port=${port}`,
        `--admin.listen=${admin}`,
        `--stream.static_directory=${path.join(sourceDirectory, 'samples', sample, 'web')}`,
        `--location.store=${store}`,
        ...flags,
      ],
      {
        cwd: directory,
        env: { ...serverEnvironment, ...environment },
        stdio: ['ignore', 'pipe', 'pipe'],
      },
    );
    await server.#becomeReady();
    return server;
  }

  // Where its operators reach it, "http://127.0.0.1:9464".
  admin;

  get pid() {
    return this.#process.pid;
  }

  // Resolves to {code, signal} when it has ended by itself.
  get ended() {
    return this.#ended;
  }

  #becomeReady() {
    return new Promise((resolve, reject) => {
      this.#ended = new Promise((ended) => {
        this.#process.once('error', (error) => ended({ error }));
        this.#process.once('close', (code, signal) => ended({ code, signal }));
      });
      this.#ended.then((how) => {
        reject(new Error(`the server ended (${JSON.stringify(how)}):\n${this.output}`));
      });
      for (const stream of [this.#process.stdout, this.#process.stderr]) {
        createInterface({ input: stream }).on('line', (line) => {
          this.#lines.push(line);
          for (const heard of this.#heard.splice(0)) heard();
          this.admin = ADMIN.exec(line)?.[1] ?? this.admin;
          const ready = READY.exec(line);
          if (ready) {
            this.port = Number(ready[1]);
            this.tcpPort = Number(TCP.exec(line)?.[1] ?? 0);
            resolve();
          }
        });
      }
    });
  }

  get url() {
    return `http://127.0.0.1:${this.port}/`;
  }

  get output() {
    return this.#lines.join('\n');
  }

  signal(name) {
    this.#process.kill(name);
  }

  // Resolves once it has said a line like that.
  async says(pattern) {
    while (!this.#lines.some((line) => pattern.test(line))) {
      await new Promise((resolve) => { this.#heard.push(resolve); });
    }
  }

  // Asks it to stop and resolves to {code, signal}.
  async stop(signal = 'SIGTERM') {
    this.#process.kill(signal);
    return this.#ended;
  }

  async kill() {
    this.#process.kill('SIGKILL');
    return this.#ended;
  }
}

// Runs `work({directory})` and leaves nothing behind.
export async function inTemporaryDirectory(work) {
  const directory = await temporaryDirectory();
  try {
    return await work(directory);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}
