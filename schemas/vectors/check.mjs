// Holds frames.mjs to the vectors: node schemas/vectors/check.mjs

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';

import {
  Refused, lineHash, packetId, readFrame, readHandshake, splitTcp, writeFrame,
} from './frames.mjs';

const vectors = JSON.parse(readFileSync(new URL('stream_binary.json', import.meta.url)));
const bytesOf = (hex) => Buffer.from(hex, 'hex');

// What a reader makes of bytes, or why it refuses them.
function reading(read) {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    return { refused: error.message };
  }
}

for (const { name, id } of vectors.packet_ids) assert.equal(packetId(name), id, name);
for (const { text, hash } of vectors.lines) assert.equal(lineHash(text), hash, text);

for (const vector of vectors.frames) {
  const { from, over, bytes, ...expected } = vector;
  const found = reading(() => {
    const frame = readFrame(bytesOf(bytes), from, over);
    assert.equal(writeFrame(frame.kind, frame).toString('hex'), bytes);
    return { ...frame, body: frame.body.toString('hex') };
  });
  assert.deepEqual(found, expected, bytes);
}

for (const { bytes, frames, refused } of vectors.tcp) {
  const found = reading(() => splitTcp(bytesOf(bytes), 65536));
  if (refused) {
    assert.equal(found.refused, refused);
  } else {
    assert.deepEqual(found.frames.map((frame) => frame.toString('hex')), frames, bytes);
  }
}

for (const { name, body, values, refused } of vectors.handshakes) {
  const found = reading(() => readHandshake(name, bytesOf(body)));
  assert.deepEqual(found, refused ? { refused } : values, body);
}

const count = Object.values(vectors).reduce((sum, list) => sum + list.length, 0);
console.log(`${count} vectors are read as they say`);
