#include "objects/creation_bodies.hpp"

#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include <spotmesh/limits.hpp>

#include "base/utf8.hpp"
#include "objects/peer_bodies.hpp"
#include "wire/text.hpp"

namespace spotmesh::objects {
namespace {

using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;

std::string_view view_of(const flatbuffers::String& text) { return {text.c_str(), text.size()}; }

body::Outcome outcome_of(CreateReply::Kind kind) {
  switch (kind) {
    case CreateReply::Kind::Created:
      return body::Outcome::Created;
    case CreateReply::Kind::Existing:
      return body::Outcome::Existing;
    case CreateReply::Kind::Rejected:
      return body::Outcome::Rejected;
  }
  return body::Outcome::Failed;
}

// A name of up to so many bytes, in UTF-8.
Result<std::string> read_name(const PeerMessage& from, const flatbuffers::String* text) {
  const std::string_view name = text == nullptr ? std::string_view() : view_of(*text);
  if (name.size() > max_id_bytes || !is_valid_utf8(name)) {
    return fail(unsound(from, "a name is too long, or not UTF-8"));
  }
  return std::string(name);
}

Result<OperationId> read_operation_id(const PeerMessage& from, const body::Id* id) {
  const OperationId operation = id == nullptr ? OperationId() : OperationId{id->high(), id->low()};
  if (operation.is_none()) return fail(unsound(from, "it names no operation"));
  return operation;
}

Result<CreateEnd> read_error(const PeerMessage& answer, const body::CreateAnswer& table) {
  if (table.error_kind() >= error_kind_count) {
    return fail(
        unsound(answer, fmt::format("its error has the unknown kind {}", table.error_kind())));
  }
  const std::string_view text =
      table.error_message() == nullptr ? std::string_view() : view_of(*table.error_message());
  return CreateEnd{
      .result = fail(Error(static_cast<ErrorKind>(table.error_kind()),
                           std::string(wire::cut_at_character(text, limits::peer_error_bytes)))),
      .is_turned_away = table.outcome() == body::Outcome::TurnedAway};
}

}  // namespace

void write_create(FlatBufferBuilder& builder, OperationId operation, const CreateSpec& spec,
                  std::uint64_t remaining) {
  const auto request = write_packet(builder, spec.request);
  const auto id = builder.CreateString(spec.id);
  const auto type = builder.CreateString(spec.type.text());
  const auto mesh = builder.CreateString(spec.mesh->name);
  const body::Id key(operation.high, operation.low);
  builder.Finish(body::CreateCreate(builder, &key, target_of(spec.kind), id, type, mesh,
                                    spec.accepts_existing, request, remaining));
}

Result<AskedCreation> read_create(const PeerMessage& message) {
  const auto table = read_body<body::Create>(message);
  if (!table) return fail(table.error());
  const auto operation = read_operation_id(message, (*table)->operation());
  if (!operation) return fail(operation.error());
  const auto kind = read_target(message, (*table)->target());
  if (!kind) return fail(kind.error());
  auto id = read_id(message, *(*table)->id(), *kind);
  if (!id) return fail(id.error());
  auto type = StableType::parse(view_of(*(*table)->type()));
  if (!type) return fail(unsound(message, type.error().message()));
  auto mesh = read_name(message, (*table)->mesh());
  if (!mesh) return fail(mesh.error());
  if (message.call == 0) return fail(unsound(message, "it is no call"));
  return AskedCreation{.operation = *operation,
                       .kind = *kind,
                       .id = *std::move(id),
                       .type = *std::move(type),
                       .mesh = *std::move(mesh),
                       .accepts_existing = (*table)->accepts_existing(),
                       .remaining = (*table)->remaining()};
}

Result<Message> read_create_request(const PeerMessage& message,
                                    const FrozenApplication& application) {
  const auto table = read_body<body::Create>(message);
  if (!table) return fail(table.error());
  auto request = read_packet(message, *(*table)->request(), application);
  if (request && request->payload().size() > limits::create_request_bytes) {
    return fail(
        unsound(message, fmt::format("its request has {} bytes; {} are allowed",
                                     request->payload().size(), limits::create_request_bytes)));
  }
  return request;
}

void write_create_answer(FlatBufferBuilder& builder, const CreateEnd& end) {
  if (!end.result) {
    const Error& error = end.result.error();
    const auto text =
        builder.CreateString(wire::cut_at_character(error.message(), limits::peer_error_bytes));
    body::CreateAnswerBuilder answer(builder);
    answer.add_outcome(end.is_turned_away ? body::Outcome::TurnedAway : body::Outcome::Failed);
    answer.add_error_kind(static_cast<std::uint8_t>(error.kind()));
    answer.add_error_message(text);
    return builder.Finish(answer.Finish());
  }
  const CreateReply& reply = *end.result;
  const auto message = write_packet(builder, reply.reply);
  const auto mesh = builder.CreateString(reply.mesh);
  const auto node = builder.CreateString(reply.node.text);
  body::CreateAnswerBuilder answer(builder);
  answer.add_outcome(outcome_of(reply.kind));
  answer.add_generation(reply.generation.value);
  answer.add_mesh(mesh);
  answer.add_node(node);
  answer.add_reply(message);
  builder.Finish(answer.Finish());
}

Result<CreateEnd> read_create_answer(const PeerMessage& answer,
                                     const FrozenApplication& application) {
  const auto read = read_body<body::CreateAnswer>(answer);
  if (!read) return fail(read.error());
  const body::CreateAnswer& table = **read;
  CreateReply reply;
  switch (table.outcome()) {
    case body::Outcome::Failed:
    case body::Outcome::TurnedAway:
      return read_error(answer, table);
    case body::Outcome::Created:
      reply.kind = CreateReply::Kind::Created;
      break;
    case body::Outcome::Existing:
      reply.kind = CreateReply::Kind::Existing;
      break;
    case body::Outcome::Rejected:
      reply.kind = CreateReply::Kind::Rejected;
      break;
    default:
      return fail(unsound(answer, "it has an unknown outcome"));
  }
  if (table.generation() > max_counter) return fail(unsound(answer, "its generation is none"));
  reply.generation = {table.generation()};
  auto mesh = read_name(answer, table.mesh());
  auto node = read_name(answer, table.node());
  if (!mesh || !node) return fail(mesh ? node.error() : mesh.error());
  reply.mesh = *std::move(mesh);
  reply.node = NodeRid{*std::move(node)};
  if (table.reply() != nullptr) {
    auto message = read_packet(answer, *table.reply(), application);
    if (!message) return fail(message.error());
    reply.reply = *std::move(message);
  }
  return CreateEnd{.result = std::move(reply), .is_turned_away = false};
}

void write_operation(FlatBufferBuilder& builder, OperationId operation) {
  const body::Id key(operation.high, operation.low);
  builder.Finish(body::CreateOperation(builder, &key));
}

Result<OperationId> read_operation(const PeerMessage& message) {
  const auto table = read_body<body::Operation>(message);
  if (!table) return fail(table.error());
  return read_operation_id(message, (*table)->operation());
}

}  // namespace spotmesh::objects
