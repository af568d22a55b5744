// One server, one healthy game, and meanwhile every kind of client that a server must survive.
// Each is ended with the documented reason, told of once in the log, and nobody else notices.

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
// The pace of players and of slow clients. style: nothing is awaited with it.
import { setTimeout as passes } from 'node:timers/promises';

import { ServerProcess, inTemporaryDirectory } from '../../support/server_process.mjs';
import { StreamClient } from '../../support/stream_client.mjs';
import {
  BAD_ADDRESS, BINARY, BadClient, PING, TEXT, binaryFrame, frame, message,
} from './bad_client.mjs';

const TEST_MS = 120_000;
// Of each kind, at the same time.
const COPIES = 4;
// AddressSanitizer keeps what has been freed for a while; that much is not the server's doing.
const sanitized = [
  process.env.ASAN_OPTIONS, 'quarantine_size_mb=8', 'thread_local_quarantine_size_kb=64',
].filter(Boolean).join(':');
const GENEROUS_GROWTH_BYTES = 96 * 1024 * 1024;
const MOVE_MS = 5;
const PATIENCE_MS = 10_000;
const PLACE_MARK = 0x14116d3e;
const PING_FRAME = 8; // of the binary form, over TCP

const FLAGS = [
  '--stream.tcp=127.0.0.1:0',
  '--stream.heartbeat_interval=1s',
  '--stream.handshake_timeout=2s',
  '--stream.messages_per_second=200',
  '--stream.message_burst=400',
  '--stream.bytes_per_second=200000',
  '--stream.byte_burst=400000',
  '--stream.quota_patience=2s',
  '--stream.outbound_bytes=131072',
  '--stream.outbound_age=3s',
  '--log.lines_per_second=10000',
];

// Floods leave this process the time for the game.
async function untilEnded(client, step) {
  while (client.isOpen) {
    await step();
    await passes(1);
  }
  await client.ended;
}

const ws = (server, options) => BadClient.webSocket(server.port, options);
const tcp = (server, options) => BadClient.tcp(server.tcpPort, options);

// What it does, and how it is to end: the code and the reason, and whether the log has a word.
const KINDS = [
  {
    name: 'connects and says nothing',
    run: async (server) => BadClient.open(server.port),
    isLogged: false,
  },
  {
    name: 'sends its request a byte at a time',
    run: async (server) => {
      const client = await BadClient.open(server.port);
      await untilEnded(client, async () => { await client.write('G'); await passes(200); });
      return client;
    },
    isLogged: false,
  },
  {
    name: 'connects over TCP and says no Hello',
    run: async (server) => tcp(server, { hello: false }),
    code: 4005, reason: /no Hello came within 2 s/, isLogged: false,
  },
  {
    name: 'pings without end before its Hello and reads no pong',
    run: async (server) => {
      const client = await tcp(server, { hello: false });
      const ping = binaryFrame(PING_FRAME, 0, 0, Buffer.alloc(0));
      const framed = Buffer.concat([Buffer.from([ping.length, 0, 0, 0]), ping]);
      await client.write(Buffer.concat(Array(1000).fill(framed)));
      return client;
    },
    code: 4007, reason: /more than 64 pings before Hello/,
  },
  {
    name: 'claims a length of ff ff ff ff',
    run: async (server) => {
      const client = await tcp(server);
      await client.write(Buffer.from([0xff, 0xff, 0xff, 0xff, 4]));
      return client;
    },
    code: 1009, reason: /4294967295.*65536|65536.*4294967295/,
  },
  {
    name: 'claims a message of 2^53 bytes',
    run: async (server) => {
      const client = await ws(server);
      await client.write(frame(TEXT, 'x', { claimed: 2 ** 53 }));
      return client;
    },
    code: 1009, reason: /65536/,
  },
  {
    name: 'sends a message that never ends',
    run: async (server) => {
      const client = await ws(server);
      await client.write(frame(TEXT, '{', { claimed: 60_000 }));
      await untilEnded(client, async () => { await client.write(' '); await passes(100); });
      return client;
    },
    code: 4005, reason: /a message that began 2 s ago has not ended/, isLogged: false,
  },
  {
    name: 'sends fragments without end',
    run: async (server) => {
      const client = await ws(server);
      await client.write(frame(TEXT, '', { final: false }));
      const fragments = Buffer.concat(Array(100).fill(frame(0, '', { final: false })));
      await untilEnded(client, () => client.write(fragments));
      return client;
    },
    code: 1008, reason: /fragments/,
  },
  {
    name: 'sends text that is not UTF-8',
    run: async (server) => {
      const client = await ws(server);
      await client.write(frame(TEXT, Buffer.from([0x22, 0xff, 0xfe, 0x22])));
      return client;
    },
    code: 1007, reason: /UTF-8/,
  },
  {
    name: 'sends JSON of a wrong shape',
    run: async (server) => {
      const client = await ws(server);
      await client.write(message({ packet: ['tictactoe.ListRooms'], payload: 7 }));
      return client;
    },
    code: 4001, reason: /must be/,
  },
  {
    name: 'nests JSON without end',
    run: async (server) => {
      const client = await ws(server);
      await client.write(message('['.repeat(60_000)));
      return client;
    },
    code: 4001, reason: /deep/,
  },
  {
    name: 'sends binary where text is spoken',
    run: async (server) => {
      const client = await ws(server);
      await client.write(frame(BINARY, 'x'));
      return client;
    },
    code: 1003, reason: /text messages only/,
  },
  {
    name: 'cuts its FlatBuffers short',
    run: async (server) => {
      const client = await ws(server, { subprotocol: 'spotmesh.v1' });
      const body = Buffer.from([0x10, 0, 0, 0, 0xff, 0xff, 0xff, 0x7f]);
      await client.write(frame(BINARY, binaryFrame(3, PLACE_MARK, 0, body)));
      return client;
    },
    code: 4001, reason: /tictactoe.PlaceMark: the bytes are no such packet/,
  },
  {
    name: 'sends tiny frames without end',
    run: async (server) => {
      const client = await ws(server);
      const frames = Buffer.concat(Array(500).fill(frame(PING, '')));
      await untilEnded(client, () => client.write(frames));
      return client;
    },
    code: 4007, reason: /more than 200 messages a second, which is the most, for \d s/,
  },
  {
    name: 'sends packets without end',
    run: async (server) => {
      const client = await tcp(server);
      const length = Buffer.from([12, 0, 0, 0]);
      const one = Buffer.concat([length, binaryFrame(3, 0x01020304, 0, Buffer.alloc(0))]);
      const frames = Buffer.concat(Array(500).fill(one));
      await untilEnded(client, () => client.write(frames));
      return client;
    },
    code: 4007, reason: /more than 200 messages a second/,
  },
  {
    name: 'sends long messages without end',
    run: async (server) => {
      const client = await ws(server);
      const long = message({ packet: 'no.Such', payload: { text: 'x'.repeat(60_000) } });
      await untilEnded(client, () => client.write(long));
      return client;
    },
    code: 4007, reason: /more than 200000 bytes a second/,
  },
  {
    name: 'answers no ping',
    run: async (server) => ws(server),
    code: 4005, reason: /nothing was heard of the client for 2 s/, isLogged: false,
  },
];

// What the log says of a client's end.
const endingsOf = (server, client) => server.output.split('\n').filter((line) =>
  line.includes(`client=${client.name}`) && /client (closed|refused)/.test(line));

async function residentBytes(server) {
  const status = await readFile(`/proc/${server.pid}/status`, 'utf8');
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)[1]) * 1024;
}

class Game {
  players = [];
  rounds = 0;
  longestMs = 0;

  static async open(server) {
    const game = new Game();
    for (const name of ['Ann', 'Bob']) {
      const client = await StreamClient.open(server.url);
      const answer = await client.request('tictactoe.Login', {
        name, device_token: `a-token-that-only-${name}-knows`,
      });
      assert.equal(answer.packet, 'tictactoe.LoginResult', JSON.stringify(answer));
      await client.request('tictactoe.OpenRoom', { room: 'Den' });
      await client.push('tictactoe.GameStateNotify');
      game.players.push(client);
    }
    await game.players[0].push('tictactoe.GameStateNotify',
      ({ state }) => state.phase === 'Playing');
    return game;
  }

  // A whole round, at the pace of a quick player: X takes the upper row.
  async playRound() {
    const [first, second] = this.players;
    const { payload: { room } } = await first.request('tictactoe.Sync');
    assert.equal(room.phase, 'Playing');
    const [x, o] = room.x.name === 'Ann' ? [first, second] : [second, first];
    for (const [client, cell] of [[x, 0], [o, 3], [x, 1], [o, 4], [x, 2]]) {
      const begun = performance.now();
      const answer = await client.request('tictactoe.PlaceMark', { cell });
      this.longestMs = Math.max(this.longestMs, performance.now() - begun);
      assert.equal(answer.packet, 'tictactoe.PlaceMarkResult', JSON.stringify(answer));
      assert.equal(answer.payload.state.cells[cell], client === x ? 'X' : 'O');
      await passes(MOVE_MS);
    }
    for (const client of this.players) {
      const { state } = await client.push('tictactoe.GameStateNotify',
        (payload) => payload.state.phase === 'Finished');
      assert.equal(state.outcome, 'Win');
      assert.equal(state.winner, 'X');
    }
    for (const client of this.players) await client.request('tictactoe.Rematch');
    for (const client of this.players) {
      await client.push('tictactoe.GameStateNotify', ({ state }) => state.phase === 'Playing');
    }
    this.rounds += 1;
  }
}

// Runs a server with a game on it, and `work` meanwhile; what the game and the server's memory were
// like.
async function withGame(flags, work) {
  await inTemporaryDirectory(async (directory) => {
    const server = await ServerProcess.start('tictactoe', {
      directory, flags, environment: { ASAN_OPTIONS: sanitized },
    });
    try {
      const game = await Game.open(server);
      await game.playRound();
      const before = await residentBytes(server);
      let most = before;
      let isOver = false;
      const worked = work(server, game).finally(() => { isOver = true; });
      worked.catch(() => {});
      while (!isOver) {
        await game.playRound();
        most = Math.max(most, await residentBytes(server));
      }
      await worked;
      await game.playRound();
      assert.ok(game.rounds > 5, `only ${game.rounds} rounds were played`);
      assert.ok(most - before < GENEROUS_GROWTH_BYTES, `the server grew from ${before} to ${most}`);
      console.log(`${game.rounds} rounds, the longest move ${game.longestMs.toFixed(0)} ms, `
        + `${((most - before) / 1048576).toFixed(1)} MiB more at most`);
    } catch (error) {
      error.message += `\n---- the server said:\n${server.output.slice(-20_000)}`;
      throw error;
    } finally {
      await server.kill();
    }
  });
}

async function metric(server, wanted) {
  const text = await (await fetch(`${server.admin}/metrics`)).text();
  const line = text.split('\n').find((each) => each.startsWith(`${wanted} `));
  return line === undefined ? 0 : Number(line.split(' ').at(-1));
}

// The log comes through a pipe of its own, so a line may come later than the end that it tells of.
async function untilTold(server, client) {
  for (let waited = 0; waited < PATIENCE_MS && endingsOf(server, client).length === 0;) {
    await passes(MOVE_MS);
    waited += MOVE_MS;
  }
}

async function live(kind, server) {
  const client = await kind.run(server);
  await client.ended;
  assert.equal(client.close?.code, kind.code, `${kind.name}: ${JSON.stringify(client.close)}`);
  if (kind.reason) assert.match(client.close.reason, kind.reason, kind.name);
  if (kind.isLogged !== false) await untilTold(server, client);
  return { kind, client };
}

test('a game goes on while clients of every bad kind come and are ended with their reason',
  { timeout: TEST_MS }, async () => {
    await withGame(FLAGS, async (server) => {
      const ended = await Promise.all(KINDS.flatMap((kind) =>
        Array.from({ length: COPIES }, () => live(kind, server))));
      for (const { kind, client } of ended) {
        const told = endingsOf(server, client);
        assert.equal(told.length, kind.isLogged === false ? 0 : 1,
          `${kind.name}: ${told.join('\n')}`);
      }
    });
  });

test('an address that opens connections without end gets its share of them and is told so',
  { timeout: TEST_MS }, async () => {
    const most = 20;
    await withGame([`--stream.connections_per_address=${most}`], async (server, game) => {
      const clients = [];
      for (let i = 0; i < 5 * most; i += 1) clients.push(await BadClient.webSocket(server.port));
      const refused = clients.slice(most);
      await Promise.all(refused.map((client) => client.ended));
      for (const client of refused) {
        assert.equal(client.close?.code, 4006);
        assert.match(client.close.reason, /there are 20 connections from your address/);
      }
      assert.equal(clients.slice(0, most).filter((client) => client.isOpen).length, most);
      assert.equal(await metric(server, 'spotmesh_stream_addresses_refused_total'), 4 * most);
      // Others have their own share, and a place that was given back is taken again.
      const other = await BadClient.webSocket(server.port, { address: '127.0.0.3' });
      assert.ok(other.isOpen);
      clients[0].destroy();
      const { rounds } = game;
      while (game.rounds < rounds + 2) await passes(MOVE_MS);
      const isNews = (line) => line.includes('clients of an address are turned away')
        && line.includes(BAD_ADDRESS);
      assert.equal(server.output.split('\n').filter(isNews).length, 1);
      const again = await BadClient.webSocket(server.port);
      await passes(MOVE_MS);
      assert.equal(again.close, null);
      for (const client of [...clients, other, again]) client.destroy();
    });
  });

test('clients that ask without end and read nothing are ended at a bounded backlog',
  { timeout: TEST_MS }, async () => {
    const copies = 8;
    await withGame(['--stream.messages_per_second=0', '--stream.bytes_per_second=0',
      '--stream.outbound_bytes=262144'], async (server) => {
      const request = (seq) => message({ packet: 'x'.repeat(255), seq });
      await Promise.all(Array.from({ length: copies }, async () => {
        const client = await BadClient.webSocket(server.port);
        client.stopReading();
        let seq = 0;
        await untilEnded(client, () => client.write(
          Buffer.concat(Array.from({ length: 100 }, () => request(seq += 1)))));
        await untilTold(server, client);
        const told = endingsOf(server, client);
        assert.equal(told.length, 1, told.join('\n'));
        assert.match(told[0], /client closed with SlowReader: \d+ bytes wait for a client/);
      }));
      assert.equal(
        await metric(server, 'spotmesh_stream_sessions_closed_total{reason="slow"}'), copies);
    });
  });
