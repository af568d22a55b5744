#include "wire/stream_handshake.hpp"

#include <flatbuffers/flatbuffers.h>
#include <stream_handshake_generated.h>

namespace spotmesh::wire {
namespace {

namespace body = spotmesh::stream::handshake;

// A type of the client's, its name and its hashes are a table and two vectors; this is deeper and
// more than any that fits in a message needs.
constexpr flatbuffers::uoffset_t deepest = 8;
constexpr flatbuffers::uoffset_t most_tables = 65'536;

// A frame's body begins at any address; tables are read where they are aligned.
template <typename Table>
const Table* verified(const Bytes& aligned) {
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(aligned.data());
  flatbuffers::Verifier verifier(bytes, aligned.size(), deepest, most_tables);
  if (!verifier.VerifyBuffer<Table>(nullptr)) return nullptr;
  return flatbuffers::GetRoot<Table>(bytes);
}

Bytes bytes_of(const flatbuffers::Vector<std::uint8_t>* vector) {
  if (vector == nullptr) return {};
  const auto* first = reinterpret_cast<const std::byte*>(vector->data());
  return {first, first + vector->size()};
}

flatbuffers::Offset<flatbuffers::Vector<std::uint8_t>> vector_of(
    flatbuffers::FlatBufferBuilder& builder, const Bytes& bytes) {
  if (bytes.empty()) return 0;
  return builder.CreateVector(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
}

Bytes finished(const flatbuffers::FlatBufferBuilder& builder) {
  const auto* first = reinterpret_cast<const std::byte*>(builder.GetBufferPointer());
  return {first, first + builder.GetSize()};
}

}  // namespace

Result<StreamHello> read_stream_hello(ByteView body_bytes) {
  const Bytes aligned(body_bytes.begin(), body_bytes.end());
  const auto* table = verified<body::Hello>(aligned);
  if (table == nullptr) return fail(Error::protocol_error("the body of Hello is no such table"));
  StreamHello hello{.version = table->version(),
                    .message_bytes = table->message_bytes(),
                    .types = {},
                    .resume = bytes_of(table->resume())};
  if (table->types() == nullptr) return hello;
  hello.types.reserve(table->types()->size());
  for (const auto* type : *table->types()) {
    TypePrint print{.name = type->name()->str(), .lines = {}};
    if (type->lines() != nullptr) print.lines.assign(type->lines()->begin(), type->lines()->end());
    hello.types.push_back(std::move(print));
  }
  return hello;
}

Result<StreamWelcome> read_stream_welcome(ByteView body_bytes) {
  const Bytes aligned(body_bytes.begin(), body_bytes.end());
  const auto* table = verified<body::Welcome>(aligned);
  if (table == nullptr) return fail(Error::protocol_error("the body of Welcome is no such table"));
  return StreamWelcome{.version = table->version(),
                       .session = table->session()->str(),
                       .message_bytes = table->message_bytes(),
                       .requests_in_flight = table->requests_in_flight(),
                       .request_timeout_ms = table->request_timeout_ms(),
                       .heartbeat_ms = table->heartbeat_ms(),
                       .is_resumed = table->resumed(),
                       .resume = bytes_of(table->resume())};
}

Bytes write_stream_hello(const StreamHello& hello) {
  flatbuffers::FlatBufferBuilder builder;
  std::vector<flatbuffers::Offset<body::TypePrint>> types;
  types.reserve(hello.types.size());
  for (const TypePrint& type : hello.types) {
    const auto name = builder.CreateString(type.name);
    types.push_back(body::CreateTypePrint(builder, name, builder.CreateVector(type.lines)));
  }
  const auto all = builder.CreateVector(types);
  const auto resume = vector_of(builder, hello.resume);
  builder.Finish(body::CreateHello(builder, hello.version, hello.message_bytes, all, resume));
  return finished(builder);
}

Bytes write_stream_welcome(const StreamWelcome& welcome) {
  flatbuffers::FlatBufferBuilder builder;
  const auto session = builder.CreateString(welcome.session);
  const auto resume = vector_of(builder, welcome.resume);
  builder.Finish(body::CreateWelcome(builder, welcome.version, session, welcome.message_bytes,
                                     welcome.requests_in_flight, welcome.request_timeout_ms,
                                     welcome.heartbeat_ms, welcome.is_resumed, resume));
  return finished(builder);
}

}  // namespace spotmesh::wire
