#include "objects/creation_bodies.hpp"

#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include <spotmesh/limits.hpp>

#include "base/utf8.hpp"
#include "objects/peer_bodies.hpp"

namespace spotmesh::objects {
namespace {

using flatbuffers::FlatBufferBuilder;

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

Result<CreateEnd> read_failed(const PeerMessage& answer, const body::CreateAnswer& table) {
  auto error = read_error(answer, table.error_kind(), table.error_message());
  if (!error) return fail(error.error());
  return CreateEnd{.result = fail(*std::move(error)),
                   .is_turned_away = table.outcome() == body::Outcome::TurnedAway};
}

// Where the object is that was created or found.
Result<void> read_place(const PeerMessage& answer, const body::CreateAnswer& table,
                        CreateReply& reply) {
  const auto generation = read_generation(answer, table.generation());
  if (!generation) return fail(generation.error());
  auto mesh = read_name(answer, table.mesh());
  if (!mesh) return fail(mesh.error());
  auto node = read_name(answer, table.node());
  if (!node) return fail(node.error());
  if (mesh->empty() || node->empty()) return fail(unsound(answer, "it names no mesh, or no node"));
  reply.generation = *generation;
  reply.mesh = *std::move(mesh);
  reply.node = NodeRid{*std::move(node)};
  return {};
}

}  // namespace

void write_create(FlatBufferBuilder& builder, OperationId operation, const CreateSpec& spec,
                  Instant now) {
  const auto request = write_packet(builder, spec.request);
  const auto id = builder.CreateString(spec.id);
  const auto type = builder.CreateString(spec.type.text());
  const auto mesh = builder.CreateString(spec.mesh->name);
  const body::Id key(operation.high, operation.low);
  builder.Finish(body::CreateCreate(builder, &key, target_of(spec.kind), id, type, mesh,
                                    spec.accepts_existing, request,
                                    remaining_time(spec.deadline, now), now.since_origin.count()));
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
                       .remaining = (*table)->remaining(),
                       .sent_at = (*table)->sent_at()};
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
    const auto text = write_error_text(builder, error);
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
      return read_failed(answer, table);
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
  if (reply.kind != CreateReply::Kind::Rejected) {
    if (auto place = read_place(answer, table, reply); !place) return fail(place.error());
  }
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
