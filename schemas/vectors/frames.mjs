// The binary form of STREAM, written from STREAM.md alone, without any dependency: frames, the
// framing over TCP, packet ids, the fingerprint's hashes, and a reader of Hello and Welcome.

import { createHash } from 'node:crypto';

export const HEADER_BYTES = 12;

// Per kind: its name, who says it, which fields it has.
const KINDS = {
  1: { name: 'Hello', by: ['client'] },
  2: { name: 'Welcome', by: ['server'] },
  3: { name: 'OneWay', by: ['client'], packet: true },
  4: { name: 'Request', by: ['client'], packet: true, seq: true },
  5: { name: 'Push', by: ['server'], packet: true },
  6: { name: 'Reply', by: ['server'], packet: true, seq: true },
  7: { name: 'ErrorReply', by: ['server'], code: true, seq: true },
  8: { name: 'Ping', by: ['client', 'server'], isControl: true },
  9: { name: 'Pong', by: ['client', 'server'], isControl: true },
  10: { name: 'Close', by: ['client', 'server'], isControl: true, code: true },
};
const NUMBERS = Object.fromEntries(
  Object.entries(KINDS).map(([number, { name }]) => [name, Number(number)]));
const ERROR_KINDS = 13;

export class Refused extends Error {}

function refuse(reason) {
  throw new Refused(reason);
}

export function packetId(name) {
  return createHash('sha256').update(name, 'utf8').digest().readUInt32BE(0);
}

export function lineHash(text) {
  let hash = 2166136261;
  for (const byte of Buffer.from(text, 'utf8')) hash = Math.imul(hash ^ byte, 16777619) >>> 0;
  return hash === 0 ? 1 : hash;
}

export function writeFrame(kind, { code = 0, packet = 0, seq = 0, body = Buffer.alloc(0) } = {}) {
  const header = Buffer.alloc(HEADER_BYTES);
  header.writeUInt8(NUMBERS[kind], 0);
  header.writeUInt16LE(code, 2);
  header.writeUInt32LE(packet, 4);
  header.writeUInt32LE(seq, 8);
  return Buffer.concat([header, body]);
}

function maySendClose(code) {
  return (code >= 1000 && code <= 1003) || (code >= 1007 && code <= 1014)
    || (code >= 3000 && code <= 4999);
}

function checkText(name, body, most) {
  if (body.length > most) {
    refuse(`the text of ${name} has ${body.length} bytes, ${most} is the most`);
  }
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(body);
  } catch {
    refuse(`the text of ${name} is not UTF-8`);
  }
}

function checkBody({ kind, code, body }) {
  if (kind === 'ErrorReply') {
    if (code >= ERROR_KINDS) refuse(`there is no error kind ${code}`);
    checkText(kind, body, 1024);
  } else if (kind === 'Ping' || kind === 'Pong') {
    if (body.length > 125) {
      refuse(`the body of a Ping or Pong has ${body.length} bytes, 125 is the most`);
    }
  } else if (kind === 'Close' && !(code === 1005 && body.length === 0)) {
    if (!maySendClose(code)) refuse(`close code ${code} must not be sent`);
    checkText(kind, body, 123);
  }
}

// {kind, code, packet, seq, body}. Throws Refused.
export function readFrame(bytes, from, over) {
  if (bytes.length < HEADER_BYTES) {
    refuse(`a frame has ${bytes.length} bytes, its header alone has ${HEADER_BYTES}`);
  }
  const rule = KINDS[bytes[0]];
  if (!rule) refuse(`there is no kind ${bytes[0]}`);
  if (!rule.by.includes(from)) refuse(`${rule.name} is not said by a ${from}`);
  if (rule.isControl && over === 'websocket') {
    refuse(`${rule.name} is a frame of WebSocket's own here`);
  }
  const frame = {
    kind: rule.name,
    code: bytes.readUInt16LE(2),
    packet: bytes.readUInt32LE(4),
    seq: bytes.readUInt32LE(8),
    body: bytes.subarray(HEADER_BYTES),
  };
  if (bytes[1] !== 0) refuse(`the second byte of ${rule.name} must be 0`);
  if (!rule.code && frame.code !== 0) refuse(`${rule.name} has no code, which must be 0`);
  for (const [field, name] of [['packet', 'packet id'], ['seq', 'seq']]) {
    if (rule[field] && frame[field] === 0) refuse(`${rule.name} must have a ${name}`);
    if (!rule[field] && frame[field] !== 0) refuse(`${rule.name} has no ${name}, which must be 0`);
  }
  checkBody(frame);
  return frame;
}

export function writeTcp(frame) {
  const length = Buffer.alloc(4);
  length.writeUInt32LE(frame.length);
  return Buffer.concat([length, frame]);
}

// The whole frames at the front of `bytes`, and the rest. Throws Refused.
export function splitTcp(bytes, mostBytes) {
  const frames = [];
  let rest = bytes;
  while (rest.length >= 4) {
    const length = rest.readUInt32LE(0);
    if (length > mostBytes) {
      refuse(`message of ${length} bytes is over the limit of ${mostBytes} bytes`);
    }
    if (length < HEADER_BYTES) refuse(`a length of ${length} bytes; the least is ${HEADER_BYTES}`);
    if (rest.length < 4 + length) break;
    frames.push(rest.subarray(4, 4 + length));
    rest = rest.subarray(4 + length);
  }
  return { frames, rest };
}

// ---- Hello and Welcome: what of FlatBuffers they need -------------------------------------------

class Table {
  constructor(bytes, at) {
    this.bytes = bytes;
    this.at = at;
    this.vtable = at - bytes.readInt32LE(at);
    this.slots = (bytes.readUInt16LE(this.vtable) - 4) / 2;
  }

  static root(bytes) {
    return new Table(bytes, bytes.readUInt32LE(0));
  }

  place(slot) {
    if (slot >= this.slots) return 0;
    const offset = this.bytes.readUInt16LE(this.vtable + 4 + 2 * slot);
    return offset === 0 ? 0 : this.at + offset;
  }

  number(slot, read) {
    const place = this.place(slot);
    return place === 0 ? 0 : this.bytes[read](place);
  }

  follow(slot) {
    const place = this.place(slot);
    return place === 0 ? 0 : place + this.bytes.readUInt32LE(place);
  }

  octets(slot) {
    const start = this.follow(slot);
    if (start === 0) return null;
    const length = this.bytes.readUInt32LE(start);
    if (start + 4 + length > this.bytes.length) throw new RangeError('a vector past the end');
    return this.bytes.subarray(start + 4, start + 4 + length);
  }

  // Each element of a vector of 4-byte values, by its place.
  elements(slot, read) {
    const start = this.follow(slot);
    if (start === 0) return [];
    const length = this.bytes.readUInt32LE(start);
    if (start + 4 + 4 * length > this.bytes.length) throw new RangeError('a vector past the end');
    return Array.from({ length }, (_, i) => read(start + 4 + 4 * i));
  }
}

function requiredText(table, slot) {
  const octets = table.octets(slot);
  if (octets === null) throw new RangeError('a required field is absent');
  return octets.toString('utf8');
}

function readHello(table) {
  return {
    version: table.number(0, 'readUInt16LE'),
    message_bytes: table.number(1, 'readUInt32LE'),
    types: table.elements(2, (place) => {
      const type = new Table(table.bytes, place + table.bytes.readUInt32LE(place));
      return {
        name: requiredText(type, 0),
        lines: type.elements(1, (line) => type.bytes.readUInt32LE(line)),
      };
    }),
    resume: (table.octets(3) ?? Buffer.alloc(0)).toString('hex'),
  };
}

function readWelcome(table) {
  return {
    version: table.number(0, 'readUInt16LE'),
    session: requiredText(table, 1),
    message_bytes: table.number(2, 'readUInt32LE'),
    requests_in_flight: table.number(3, 'readUInt32LE'),
    request_timeout_ms: table.number(4, 'readUInt32LE'),
    heartbeat_ms: table.number(5, 'readUInt32LE'),
    resumed: table.number(6, 'readUInt8') !== 0,
    resume: (table.octets(7) ?? Buffer.alloc(0)).toString('hex'),
  };
}

// The fields of a body, `resume` in hexadecimal. Throws Refused.
export function readHandshake(name, body) {
  try {
    return (name === 'Hello' ? readHello : readWelcome)(Table.root(body));
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return refuse(`the body of ${name} is no such table`);
  }
}
