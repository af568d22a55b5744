// A client that does as it likes: raw bytes over TCP or behind a WebSocket upgrade, from an address
// of its own, and what the server made of it.

import { randomBytes } from 'node:crypto';
import { connect } from 'node:net';

// Healthy clients come from 127.0.0.1.
export const BAD_ADDRESS = '127.0.0.2';

export const TEXT = 0x1;
export const BINARY = 0x2;
export const PING = 0x9;
const CLOSE = 0x8;

// What schemas/STREAM.md shows.
const HELLO = Buffer.from(
  ['010000000000000000000000', '0c000000', '0000', '060008000600', '06000000', '00000100'].join(''),
  'hex');

const lengthPrefix = (bytes) => {
  const length = Buffer.alloc(4);
  length.writeUInt32LE(bytes);
  return length;
};

// One frame of a client, masked with zeros. `claimed` may lie about the length.
export function frame(opcode, payload, { final = true, claimed = payload.length } = {}) {
  const first = (final ? 0x80 : 0) | opcode;
  let head;
  if (claimed < 126) {
    head = Buffer.from([first, 0x80 | claimed]);
  } else if (claimed <= 0xffff) {
    head = Buffer.from([first, 0x80 | 126, claimed >> 8, claimed & 0xff]);
  } else {
    head = Buffer.alloc(10);
    head[0] = first;
    head[1] = 0x80 | 127;
    head.writeBigUInt64BE(BigInt(claimed), 2);
  }
  return Buffer.concat([head, Buffer.alloc(4), Buffer.from(payload)]);
}

export const message = (value) =>
  frame(TEXT, typeof value === 'string' ? value : JSON.stringify(value));

// A packet of the binary form: kind, packet id, seq, body.
export function binaryFrame(kind, packet, seq, body) {
  const header = Buffer.alloc(12);
  header[0] = kind;
  header.writeUInt32LE(packet, 4);
  header.writeUInt32LE(seq, 8);
  return Buffer.concat([header, body]);
}

export class BadClient {
  #socket;
  #input = Buffer.alloc(0);
  #next;
  close = null; // {code, reason} that the server gave
  response = ''; // to what is no WebSocket
  ended; // resolves when the connection is over

  static async open(port, { address = BAD_ADDRESS } = {}) {
    const client = new BadClient();
    const socket = connect({ host: '127.0.0.1', port, localAddress: address });
    client.#socket = socket;
    client.ended = new Promise((resolve) => socket.once('close', resolve));
    socket.on('error', () => {});
    await new Promise((resolve) => socket.once('connect', resolve));
    client.name = `${address}:${socket.localPort}`;
    client.#next = (input) => {
      client.response += input.toString('latin1');
      return Buffer.alloc(0);
    };
    socket.on('data', (bytes) => {
      client.#input = client.#next(Buffer.concat([client.#input, bytes]));
    });
    return client;
  }

  // Through the upgrade; false when the server does not grant it.
  static async webSocket(port, { subprotocol = 'spotmesh.v1.json', ...options } = {}) {
    const client = await BadClient.open(port, options);
    const isOpen = new Promise((resolve) => {
      client.#next = (input) => {
        const end = input.indexOf('\r\n\r\n');
        if (end < 0) return input;
        client.response = input.subarray(0, end).toString('latin1');
        client.#next = (rest) => client.#takeFrames(rest);
        resolve();
        return client.#next(input.subarray(end + 4));
      };
    });
    client.write('GET /stream HTTP/1.1\r\nHost: here\r\n'
      + 'Connection: Upgrade\r\nUpgrade: websocket\r\n'
      + `Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${randomBytes(16).toString('base64')}\r\n`
      + `Sec-WebSocket-Protocol: ${subprotocol}\r\n\r\n`);
    await Promise.race([isOpen, client.ended]);
    if (subprotocol === 'spotmesh.v1') client.write(frame(BINARY, HELLO));
    return client;
  }

  static async tcp(port, { hello = true, ...options } = {}) {
    const client = await BadClient.open(port, options);
    client.#next = (input) => client.#takeTcp(input);
    if (hello) client.writeTcp(HELLO);
    return client;
  }

  get isOpen() {
    return !this.#socket.destroyed && this.#socket.writable;
  }

  // Resolves when the bytes are on their way, so that a flood does not fill this process instead.
  write(bytes) {
    if (!this.isOpen) return Promise.resolve();
    return Promise.race([
      new Promise((resolve) => { this.#socket.write(bytes, () => resolve()); }), this.ended]);
  }

  writeTcp(bytes, claimed = bytes.length) {
    return this.write(Buffer.concat([lengthPrefix(claimed), bytes]));
  }

  stopReading() {
    this.#socket.pause();
  }

  destroy() {
    this.#socket.destroy();
  }

  #takeFrames(input) {
    for (;;) {
      if (input.length < 2) return input;
      let length = input[1] & 0x7f;
      let at = 2;
      if (length === 126) {
        if (input.length < 4) return input;
        length = input.readUInt16BE(2);
        at = 4;
      } else if (length === 127) {
        if (input.length < 10) return input;
        length = Number(input.readBigUInt64BE(2));
        at = 10;
      }
      if (input.length < at + length) return input;
      if ((input[0] & 0x0f) === CLOSE) {
        this.#closed(input.readUInt16BE(at), input.subarray(at + 2, at + length));
      }
      input = input.subarray(at + length);
    }
  }

  #takeTcp(input) {
    for (;;) {
      if (input.length < 4 || input.length < 4 + input.readUInt32LE(0)) return input;
      const length = input.readUInt32LE(0);
      if (input[4] === 10) this.#closed(input.readUInt16LE(6), input.subarray(16, 4 + length));
      input = input.subarray(4 + length);
    }
  }

  #closed(code, reason) {
    this.close = { code, reason: reason.toString() };
    this.#socket.end();
  }
}
