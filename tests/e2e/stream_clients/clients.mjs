// Clients of each form of STREAM, written from schemas/STREAM.md alone: JSON and binary with the ws
// package, TCP with Node's own sockets. They show the game the same face.

import { once } from 'node:events';
import { connect } from 'node:net';

import {
  packetId, readFrame, readHandshake, splitTcp, writeFrame, writeTcp,
} from '../../../schemas/vectors/frames.mjs';
import { handshakeSchema } from './handshake.mjs';
import { Packets, requireModule } from './packets.mjs';

const { WebSocket } = requireModule('ws');
const PATIENCE_MS = 10_000;
const MESSAGE_BYTES = 1_000_000;
const ERROR_KINDS = [
  'NotFound', 'AlreadyExists', 'TypeMismatch', 'NotConfigured', 'Rejected', 'Unavailable',
  'CapacityExceeded', 'DeadlineExceeded', 'ShuttingDown', 'ProtocolError', 'InvalidOperation',
  'DataLost', 'InternalFailure',
];

// Requests, replies and pushes, whatever they look like on the wire.
class Conversation {
  #lastSeq = 0;
  #requests = new Map();
  #pushes = [];
  #waiting = [];
  close = null; // {code, reason}
  ended = new Promise((resolve) => {
    this.end = resolve;
  });

  // Resolves to {packet, payload} or {error}.
  request(packet, payload = {}) {
    const seq = ++this.#lastSeq;
    const answer = new Promise((resolve) => {
      this.#requests.set(seq, resolve);
    });
    this.write(packet, payload, seq);
    return this.inTime(answer, `answer to ${packet}`);
  }

  send(packet, payload = {}) {
    this.write(packet, payload, 0);
  }

  // The first push, past or to come, that `isWanted`; it and those before it are taken.
  push(packet, isWanted = () => true) {
    const wanted = (push) => push.packet === packet && isWanted(push.payload);
    const at = this.#pushes.findIndex(wanted);
    if (at >= 0) return Promise.resolve(this.#pushes.splice(0, at + 1).at(-1).payload);
    return this.inTime(new Promise((resolve) => {
      this.#waiting.push({ wanted, resolve });
    }), packet);
  }

  takeReply(seq, answer) {
    const resolve = this.#requests.get(seq);
    if (!resolve) throw new Error(`a reply to request ${seq}, which has none due`);
    this.#requests.delete(seq);
    resolve(answer);
  }

  takePush(push) {
    const at = this.#waiting.findIndex(({ wanted }) => wanted(push));
    if (at < 0) this.#pushes.push(push);
    else this.#waiting.splice(at, 1)[0].resolve(push.payload);
  }

  inTime(promise, what) {
    let timer;
    const late = new Promise((_, reject) => {
      timer = setTimeout(() => reject(new Error(`no ${what} in time`)), PATIENCE_MS);
    });
    const gone = this.ended.then(() => {
      throw new Error(`the connection ended before ${what}: ${JSON.stringify(this.close)}`);
    });
    gone.catch(() => {});
    return Promise.race([promise, late, gone]).finally(() => clearTimeout(timer));
  }
}

async function openWebSocket(client, port, subprotocol) {
  const socket = new WebSocket(`ws://127.0.0.1:${port}/stream`, subprotocol);
  socket.on('close', (code, reason) => {
    client.close = { code, reason: reason.toString() };
    client.end();
  });
  await once(socket, 'open');
  if (socket.protocol !== subprotocol) throw new Error(`the server chose ${socket.protocol}`);
  return socket;
}

export class JsonClient extends Conversation {
  static async open(port) {
    const client = new JsonClient();
    client.socket = await openWebSocket(client, port, 'spotmesh.v1.json');
    client.socket.on('message', (data, isBinary) => {
      if (isBinary) throw new Error('a binary message');
      client.#take(JSON.parse(data.toString()));
    });
    return client;
  }

  write(packet, payload, seq) {
    this.socket.send(JSON.stringify(seq === 0 ? { packet, payload } : { packet, seq, payload }));
  }

  leave() {
    this.socket.close(1000);
    return this.ended;
  }

  #take({ reply_to: seq, packet, payload, error }) {
    if (seq === undefined) this.takePush({ packet, payload });
    else this.takeReply(seq, error ? { error } : { packet, payload });
  }
}

// Frames, whatever carries them.
class FrameClient extends Conversation {
  #packets;
  #names;
  #welcomed;

  constructor(schema, over) {
    super();
    this.over = over;
    this.#packets = new Packets(schema);
    this.#names = new Map(Object.keys(schema).map((name) => [packetId(name), name]));
  }

  // Resolves to the Welcome.
  greet(changes) {
    const hello = {
      version: 1, message_bytes: MESSAGE_BYTES, types: this.#packets.prints(), ...changes,
    };
    const body = new Packets(handshakeSchema).encode('Hello', hello);
    this.carry(writeFrame('Hello', { body }));
    return this.inTime(new Promise((resolve) => {
      this.#welcomed = resolve;
    }), 'Welcome');
  }

  write(packet, payload, seq) {
    const body = this.#packets.encode(packet, payload);
    const kind = seq === 0 ? 'OneWay' : 'Request';
    this.carry(writeFrame(kind, { packet: packetId(packet), seq, body }));
  }

  take(bytes) {
    const frame = readFrame(bytes, 'server', this.over);
    if (frame.kind === 'Welcome') {
      this.#welcomed(readHandshake('Welcome', frame.body));
    } else if (frame.kind === 'ErrorReply') {
      this.takeReply(frame.seq, {
        error: { code: frame.code, kind: ERROR_KINDS[frame.code], message: frame.body.toString() },
      });
    } else if (frame.kind === 'Reply' || frame.kind === 'Push') {
      const packet = this.#names.get(frame.packet);
      if (!packet) return; // of a newer server
      const payload = this.#packets.decode(packet, frame.body);
      if (frame.kind === 'Push') this.takePush({ packet, payload });
      else this.takeReply(frame.seq, { packet, payload });
    } else {
      this.takeControl(frame);
    }
  }
}

export class BinaryClient extends FrameClient {
  static async open(port, schema, hello = {}) {
    const client = new BinaryClient(schema, 'websocket');
    client.socket = await openWebSocket(client, port, 'spotmesh.v1');
    client.socket.on('message', (data, isBinary) => {
      if (!isBinary) throw new Error('a text message');
      client.take(data);
    });
    client.welcome = await client.greet(hello);
    return client;
  }

  carry(frame) {
    this.socket.send(frame);
  }

  leave() {
    this.socket.close(1000);
    return this.ended;
  }
}

export class TcpClient extends FrameClient {
  #input = Buffer.alloc(0);

  static async open(port, schema, hello = {}) {
    const client = new TcpClient(schema, 'tcp');
    client.socket = connect(port, '127.0.0.1');
    client.socket.on('close', () => client.end());
    client.socket.on('data', (bytes) => client.#receive(bytes));
    await once(client.socket, 'connect');
    client.welcome = await client.greet(hello);
    return client;
  }

  carry(frame) {
    this.socket.write(writeTcp(frame));
  }

  leave() {
    this.carry(writeFrame('Close', { code: 1000 }));
    return this.ended;
  }

  takeControl({ kind, code, body }) {
    if (kind === 'Ping') this.carry(writeFrame('Pong', { body }));
    if (kind !== 'Close') return;
    this.close = { code, reason: body.toString() };
    this.socket.end();
  }

  #receive(bytes) {
    const { frames, rest } = splitTcp(Buffer.concat([this.#input, bytes]), MESSAGE_BYTES);
    this.#input = rest;
    for (const frame of frames) this.take(frame);
  }
}
