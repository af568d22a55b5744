// A client of spotmesh.v1.json that shares no code with the server or the web client: the opening
// handshake and the frames are done here, from RFC 6455.

import { createHash, randomBytes } from 'node:crypto';
import { get } from 'node:http';

const GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
const TEXT = 0x1;
const CLOSE = 0x8;
const PING = 0x9;
const PONG = 0xa;
const PATIENCE_MS = 10_000;

function upgrade(url) {
  const key = randomBytes(16).toString('base64');
  return new Promise((resolve, reject) => {
    const request = get(new URL('/stream', url), {
      headers: {
        Connection: 'Upgrade',
        Upgrade: 'websocket',
        'Sec-WebSocket-Version': '13',
        'Sec-WebSocket-Key': key,
        'Sec-WebSocket-Protocol': 'spotmesh.v1.json',
      },
    });
    request.on('error', reject);
    request.on('response', (response) => {
      reject(new Error(`the upgrade was answered with ${response.statusCode}`));
    });
    request.on('upgrade', (response, socket, head) => {
      const accept = createHash('sha1').update(key + GUID).digest('base64');
      if (response.headers['sec-websocket-accept'] !== accept) {
        reject(new Error('the server does not know the key'));
      } else {
        resolve({ socket, head });
      }
    });
  });
}

export class StreamClient {
  #socket;
  #input = Buffer.alloc(0);
  #lastSeq = 0;
  #requests = new Map();
  #waiting = [];
  pushes = [];
  close = null; // {code, reason} of the server's close frame

  static async open(url) {
    const client = new StreamClient();
    const { socket, head } = await upgrade(url);
    client.#socket = socket;
    client.ended = new Promise((resolve) => socket.once('close', resolve));
    socket.on('error', () => {});
    socket.on('data', (bytes) => client.#receive(bytes));
    client.#receive(head);
    return client;
  }

  // Resolves to {packet, payload} or {error}.
  async request(packet, payload = {}) {
    const seq = ++this.#lastSeq;
    const answer = new Promise((resolve) => {
      this.#requests.set(seq, resolve);
    });
    this.#send(TEXT, JSON.stringify({ packet, seq, payload }));
    return this.#inTime(answer, packet);
  }

  // Sends a one-way packet.
  send(packet, payload = {}) {
    this.#send(TEXT, JSON.stringify({ packet, payload }));
  }

  // The first push, past or to come, that `isWanted`; it and those before it are taken.
  async push(packet, isWanted = () => true) {
    const wanted = (push) => push.packet === packet && isWanted(push.payload);
    const at = this.pushes.findIndex(wanted);
    if (at >= 0) return this.pushes.splice(0, at + 1).at(-1).payload;
    const found = new Promise((resolve) => {
      this.#waiting.push({ wanted, resolve });
    });
    return this.#inTime(found, packet);
  }

  destroy() {
    this.#socket.destroy();
  }

  #inTime(promise, what) {
    let timer;
    const late = new Promise((_, reject) => {
      timer = setTimeout(() => reject(new Error(`no ${what} in time`)), PATIENCE_MS);
    });
    const gone = this.ended.then(() => {
      throw new Error(`the connection ended before ${what}: ${JSON.stringify(this.close)}`);
    });
    return Promise.race([promise, late, gone]).finally(() => clearTimeout(timer));
  }

  #send(opcode, text) {
    const payload = Buffer.from(text);
    const mask = randomBytes(4);
    for (let at = 0; at < payload.length; at += 1) payload[at] ^= mask[at % 4];
    const length = payload.length < 126
      ? Buffer.from([0x80 | payload.length])
      : Buffer.from([0x80 | 126, payload.length >> 8, payload.length & 0xff]);
    this.#socket.write(Buffer.concat([Buffer.from([0x80 | opcode]), length, mask, payload]));
  }

  #receive(bytes) {
    this.#input = Buffer.concat([this.#input, bytes]);
    for (;;) {
      const input = this.#input;
      if (input.length < 2) return;
      let length = input[1] & 0x7f;
      let at = 2;
      if (length === 126) {
        if (input.length < 4) return;
        length = input.readUInt16BE(2);
        at = 4;
      } else if (length === 127) {
        if (input.length < 10) return;
        length = Number(input.readBigUInt64BE(2));
        at = 10;
      }
      if (input.length < at + length) return;
      const payload = input.subarray(at, at + length);
      this.#input = input.subarray(at + length);
      this.#take(input[0] & 0x0f, payload);
    }
  }

  #take(opcode, payload) {
    if (opcode === PING) {
      this.#send(PONG, payload);
    } else if (opcode === CLOSE) {
      this.close = {
        code: payload.length >= 2 ? payload.readUInt16BE(0) : 1005,
        reason: payload.subarray(2).toString(),
      };
      this.#socket.end();
    } else if (opcode === TEXT) {
      this.#takeMessage(JSON.parse(payload.toString()));
    }
  }

  #takeMessage(message) {
    if (message.reply_to !== undefined) {
      this.#requests.get(message.reply_to)?.(message);
      this.#requests.delete(message.reply_to);
      return;
    }
    const at = this.#waiting.findIndex(({ wanted }) => wanted(message));
    if (at < 0) {
      this.pushes.push(message);
    } else {
      this.#waiting.splice(at, 1)[0].resolve(message.payload);
    }
  }
}
