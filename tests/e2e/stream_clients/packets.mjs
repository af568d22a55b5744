// Packets as FlatBuffers, by a description of their schema, with the flatbuffers package; and the
// fingerprint of that description, as STREAM.md defines it.
//
// A schema is {full name: type}. A type is {table: fields}, {enum: underlying, names}; a field is
// {name, type, default?, required?} with its type as STREAM.md writes it: "int", "[string]",
// "tictactoe.Mark". Tables, enums, scalars, strings and vectors of them: what TicTacToe needs.

import { createRequire } from 'node:module';
import path from 'node:path';

import { lineHash } from '../../../schemas/vectors/frames.mjs';

const modules = process.env.SPOTMESH_NODE_MODULES;
if (!modules) throw new Error('SPOTMESH_NODE_MODULES is not set: run this through run.sh');
export const requireModule = createRequire(path.join(path.resolve(modules), 'package.json'));
const { Builder, ByteBuffer } = requireModule('flatbuffers');

const WIDTHS = { bool: 1, byte: 1, ubyte: 1, ushort: 2, int: 4, uint: 4, ulong: 8 };
const READERS = {
  bool: (buffer, at) => buffer.readInt8(at) !== 0,
  byte: (buffer, at) => buffer.readInt8(at),
  ubyte: (buffer, at) => buffer.readUint8(at),
  ushort: (buffer, at) => buffer.readUint16(at),
  int: (buffer, at) => buffer.readInt32(at),
  uint: (buffer, at) => buffer.readUint32(at),
  ulong: (buffer, at) => buffer.readUint64(at),
};
const ADDERS = {
  bool: (builder, value) => builder.addInt8(value ? 1 : 0),
  byte: (builder, value) => builder.addInt8(value),
  ubyte: (builder, value) => builder.addInt8(value),
  ushort: (builder, value) => builder.addInt16(value),
  int: (builder, value) => builder.addInt32(value),
  uint: (builder, value) => builder.addInt32(value | 0),
  ulong: (builder, value) => builder.addInt64(value),
};

export class Packets {
  #schema;

  constructor(schema) {
    this.#schema = schema;
  }

  // ---- the fingerprint

  prints() {
    return Object.entries(this.#schema).map(([name, type]) => ({
      name, lines: this.#linesOf(type).map(lineHash),
    }));
  }

  #linesOf(type) {
    if (type.enum) return [`enum ${type.enum}`, ...type.names];
    return ['table', ...type.table.map((field) => this.#lineOf(field))];
  }

  #lineOf({ name, type, required, default: value = 0 }) {
    let line = `${name}:${type}`;
    if (this.#scalarOf(type)) line += `=${Number(value)}`;
    return required ? `${line} required` : line;
  }

  // The scalar that a type is, or null.
  #scalarOf(type) {
    if (WIDTHS[type]) return type;
    return this.#schema[type]?.enum ?? null;
  }

  // ---- writing

  encode(packet, value) {
    const builder = new Builder(256);
    builder.finish(this.#writeTable(builder, packet, value));
    return Buffer.from(builder.asUint8Array());
  }

  #writeTable(builder, name, value) {
    const fields = this.#schema[name].table;
    const offsets = fields.map(({ name: field, type }) => {
      const isInline = value[field] == null || this.#scalarOf(type) !== null;
      return isInline ? 0 : this.#writeOffset(builder, type, value[field]);
    });
    builder.startObject(fields.length);
    fields.forEach(({ name: field, type, default: fallback = 0 }, slot) => {
      const scalar = this.#scalarOf(type);
      if (!scalar) {
        builder.addFieldOffset(slot, offsets[slot], 0);
      } else if (value[field] != null && value[field] !== fallback) {
        builder.prep(WIDTHS[scalar], 0);
        ADDERS[scalar](builder, this.#numberOf(type, value[field]));
        builder.slot(slot);
      }
    });
    return builder.endObject();
  }

  #numberOf(type, value) {
    return this.#schema[type]?.enum ? this.#schema[type].names.indexOf(value) : value;
  }

  #writeOffset(builder, type, value) {
    if (type === 'string') return builder.createString(value);
    if (!type.startsWith('[')) return this.#writeTable(builder, type, value);
    const element = type.slice(1, -1);
    const scalar = this.#scalarOf(element);
    const items = scalar ? value : value.map((item) => this.#writeOffset(builder, element, item));
    const width = scalar ? WIDTHS[scalar] : 4;
    builder.startVector(width, items.length, width);
    for (const item of [...items].reverse()) {
      if (scalar) ADDERS[scalar](builder, this.#numberOf(element, item));
      else builder.addOffset(item);
    }
    return builder.endVector();
  }

  // ---- reading

  decode(packet, bytes) {
    // A copy that begins at a place of its own.
    const buffer = new ByteBuffer(Uint8Array.from(bytes));
    return this.#readTable(buffer, packet, buffer.readInt32(0));
  }

  #readTable(buffer, name, table) {
    const value = {};
    this.#schema[name].table.forEach((field, slot) => {
      const offset = buffer.__offset(table, 4 + 2 * slot);
      value[field.name] = offset === 0
        ? this.#absent(field) : this.#readValue(buffer, field.type, table + offset);
    });
    return value;
  }

  #absent({ type, default: fallback = 0 }) {
    if (type === 'bool') return fallback !== 0;
    if (type === 'ulong') return 0n;
    if (this.#schema[type]?.enum) return this.#schema[type].names[fallback];
    if (WIDTHS[type]) return fallback;
    if (type === 'string') return '';
    return type.startsWith('[') ? [] : null;
  }

  #readValue(buffer, type, at) {
    const scalar = this.#scalarOf(type);
    if (scalar) {
      const number = READERS[scalar](buffer, at);
      return this.#schema[type] ? this.#schema[type].names[number] : number;
    }
    if (type === 'string') return buffer.__string(at);
    if (!type.startsWith('[')) return this.#readTable(buffer, type, buffer.__indirect(at));
    const element = type.slice(1, -1);
    const width = WIDTHS[this.#scalarOf(element)] ?? 4;
    const start = buffer.__vector(at);
    return Array.from({ length: buffer.__vector_len(at) },
      (_, i) => this.#readValue(buffer, element, start + width * i));
  }
}
