#include "objects/peer_messages.hpp"

#include <memory>
#include <utility>

#include <fmt/format.h>

#include "objects/core.hpp"
#include "objects/peer_bodies.hpp"
#include "objects/peer_port.hpp"
#include "objects/router.hpp"
#include "objects/store_operations.hpp"

namespace spotmesh::objects {
namespace {

using flatbuffers::FlatBufferBuilder;

void write_delivery(FlatBufferBuilder& builder, const Envelope& envelope, Instant now) {
  const auto id = builder.CreateString(envelope.id);
  const auto message = write_packet(builder, envelope.message);
  const body::Target target = target_of(envelope.kind);
  if (!envelope.deadline.has_value()) {
    builder.Finish(body::CreateDelivery(builder, target, id, message));
    return;
  }
  const std::optional<ObjectName> asker = envelope.reply.asker();
  flatbuffers::Offset<flatbuffers::String> asker_id;
  if (asker.has_value()) asker_id = builder.CreateString(asker->id);
  builder.Finish(body::CreateDelivery(
      builder, target, id, message, remaining_time(*envelope.deadline, now),
      now.since_origin.count(), asker.has_value() ? target_of(asker->kind) : body::Target::Actor,
      asker_id));
}

Result<std::optional<ObjectName>> read_asker(const PeerMessage& message,
                                             const body::Delivery& delivery) {
  if (delivery.asker() == nullptr) return std::nullopt;
  const auto kind = read_target(message, delivery.asker_target());
  if (!kind) return fail(kind.error());
  auto id = read_id(message, *delivery.asker(), *kind);
  if (!id) return fail(id.error());
  return ObjectName{*kind, *std::move(id)};
}

}  // namespace

PeerMessages::PeerMessages(Core& core) : core_(core) {
  const auto received = [this](const PeerMessage& message) { return receive(message); };
  core.peers->handle(PeerKind::Send, received);
  core.peers->handle(PeerKind::Request, received);
  core.peers->handle(PeerKind::Stale,
                     [this](const PeerMessage& message) { return receive_stale(message); });
}

Result<void> PeerMessages::submit(const mesh::Peer& owner, const Envelope& envelope,
                                  std::function<void()> taken) {
  FlatBufferBuilder builder;
  write_delivery(builder, envelope, core_.now());
  if (envelope.reply.is_one_way()) {
    return core_.peers->send(owner, mesh::Lane::Messages, peer_bytes(PeerKind::Send, 0, &builder));
  }
  auto call = core_.peers->call(
      owner, mesh::Lane::Messages, PeerKind::Request, &builder, *envelope.deadline,
      [this, sink = envelope.reply, taken = std::move(taken)](const Result<PeerMessage>& answer) {
        taken();
        sink.complete(read_reply(answer, core_.application));
      });
  if (!call) return fail(call.error());
  return {};
}

Result<void> PeerMessages::receive(const PeerMessage& message) {
  const auto table = read_body<body::Delivery>(message);
  if (!table) return fail(table.error());
  const body::Delivery& delivery = **table;
  const auto kind = read_target(message, delivery.target());
  if (!kind) return fail(kind.error());
  auto id = read_id(message, *delivery.id(), *kind);
  if (!id) return fail(id.error());
  const bool is_request = message.kind == PeerKind::Request;
  if (is_request != (message.call != 0)) return fail(unsound(message, "its call is unsound"));

  Envelope envelope{.kind = *kind, .id = *std::move(id)};
  auto packet = read_packet(message, *delivery.message(), core_.application);
  if (!packet && packet.error().kind() == ErrorKind::ProtocolError) return fail(packet.error());
  if (!packet) {
    core_.metrics.no_handler.add();
    refuse(message, envelope, packet.error());
    return {};
  }
  envelope.message = *std::move(packet);
  if (is_request) {
    envelope.deadline = core_.peers->deadline_of(message, delivery.remaining(), delivery.sent_at());
    auto asker = read_asker(message, delivery);
    if (!asker) return fail(asker.error());
    envelope.reply = ReplySink(std::make_shared<PeerReplyFunction>(
        [this, call = message.without_bytes()](const Result<Message>& outcome) {
          core_.peers->reply(call, outcome);
        },
        *std::move(asker)));
  }
  deliver(message, envelope);
  return {};
}

void PeerMessages::deliver(const PeerMessage& message, Envelope& envelope) {
  const std::string& node = core_.identity.rid.text;
  if (core_.is_stopped()) {
    return refuse(message, envelope, as_seen_elsewhere(core_.stopping_error()));
  }
  const std::optional<Result<void>> delivered = core_.router->try_deliver(envelope);
  if (!delivered.has_value()) {
    core_.metrics.stale_routes.add();
    tell_stale(message.from, envelope);
    core_.strand.post([&core = core_, object = object_key(envelope.kind, envelope.id)] {
      core.operations->look_after(object);
    });
    return refuse(message, envelope,
                  Error::unavailable(fmt::format("{}: it is not on node {} any more; the next "
                                                 "call looks it up anew",
                                                 envelope.what(), node)));
  }
  if (*delivered) return;
  const Error& error = delivered->error();
  // What is full here is another node's, for the sender.
  refuse(message, envelope,
         error.kind() == ErrorKind::CapacityExceeded
             ? Error::unavailable(fmt::format("on node {}: {}", node, error.message()))
             : as_seen_elsewhere(error));
}

// Before the failure of a request, so that whoever asks again then has a route that is fresh.
void PeerMessages::tell_stale(const mesh::Peer& peer, const Envelope& envelope) {
  FlatBufferBuilder builder;
  const auto id = builder.CreateString(envelope.id);
  builder.Finish(body::CreateStale(builder, target_of(envelope.kind), id));
  // A route that is not forgotten for want of room here is found stale again.
  (void)core_.peers->send(peer, mesh::Lane::Messages, peer_bytes(PeerKind::Stale, 0, &builder));
}

Result<void> PeerMessages::receive_stale(const PeerMessage& message) {
  const auto table = read_body<body::Stale>(message);
  if (!table) return fail(table.error());
  const auto kind = read_target(message, (*table)->target());
  if (!kind) return fail(kind.error());
  const auto id = read_id(message, *(*table)->id(), *kind);
  if (!id) return fail(id.error());
  core_.router->forget_stale(message.from, *kind, *id);
  return {};
}

void PeerMessages::refuse(const PeerMessage& message, const Envelope& envelope, Error error) {
  if (message.kind == PeerKind::Request) {
    envelope.reply.disarm();
    return core_.peers->refuse(message, mesh::Lane::Messages, error);
  }
  core_.metrics.refused_messages.add();
  core_.log(LogLevel::Warning,
            fmt::format("one-way message of node {} to {} was refused: {}", message.from.node.text,
                        target_name(envelope.kind, envelope.id), to_string(error)));
}

}  // namespace spotmesh::objects
