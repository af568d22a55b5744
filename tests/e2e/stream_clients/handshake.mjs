// STREAM's own tables, for Packets: what schemas/stream_handshake.fbs says.
export const handshakeSchema = {
  TypePrint: {
    table: [{ name: 'name', type: 'string', required: true }, { name: 'lines', type: '[uint]' }],
  },
  Hello: {
    table: [
      { name: 'version', type: 'ushort' },
      { name: 'message_bytes', type: 'uint' },
      { name: 'types', type: '[TypePrint]' },
      { name: 'resume', type: '[ubyte]' },
    ],
  },
};
