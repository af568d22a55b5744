#include "objects/binding_bodies.hpp"

#include <utility>

#include <fmt/format.h>

#include <spotmesh/limits.hpp>

#include "base/utf8.hpp"
#include "objects/peer_bodies.hpp"
#include "wire/text.hpp"

namespace spotmesh::objects {
namespace {

using flatbuffers::FlatBufferBuilder;

body::Binding write_binding(const BindingIdentity& binding) {
  return {body::Id(binding.session.high, binding.session.low), binding.generation};
}

Result<BindingIdentity> read_binding(const PeerMessage& from, const body::Binding& binding,
                                     const mesh::Peer& session_node) {
  const SessionId session{binding.session().high(), binding.session().low()};
  if (session.is_none() || binding.generation() == 0) {
    return fail(unsound(from, "it names no binding"));
  }
  return BindingIdentity{.session = session,
                         .session_owner = session_node.lifecycle,
                         .session_node = session_node.node,
                         .generation = binding.generation()};
}

Result<BindingEvent> read_event(const PeerMessage& from, body::News news) {
  switch (news) {
    case body::News::Replaced:
      return BindingEvent::Replaced;
    case body::News::Gone:
      return BindingEvent::Gone;
    case body::News::Disconnect:
      return BindingEvent::Disconnect;
  }
  return fail(
      unsound(from, fmt::format("it tells of the unknown event {}", static_cast<unsigned>(news))));
}

body::News news_of(BindingEvent event) {
  switch (event) {
    case BindingEvent::Replaced:
      return body::News::Replaced;
    case BindingEvent::Gone:
      return body::News::Gone;
    case BindingEvent::Disconnect:
      return body::News::Disconnect;
  }
  return body::News::Gone;
}

}  // namespace

FlatBufferBuilder bind_body(const BindingIdentity& binding, const ActorId& actor,
                            ObjectGeneration generation, Instant deadline, Instant now) {
  FlatBufferBuilder builder;
  const auto id = builder.CreateString(actor.text());
  const body::Binding name = write_binding(binding);
  builder.Finish(body::CreateBind(builder, &name, id, generation.value,
                                  remaining_time(deadline, now), now.since_origin.count()));
  return builder;
}

Result<AskedBind> read_bind(const PeerMessage& message) {
  const auto table = read_body<body::Bind>(message);
  if (!table) return fail(table.error());
  auto binding = read_binding(message, *(*table)->binding(), message.from);
  if (!binding) return fail(binding.error());
  const auto id = read_id(message, *(*table)->actor(), TargetKind::Actor);
  if (!id) return fail(id.error());
  const auto generation = read_generation(message, (*table)->object_generation());
  if (!generation) return fail(generation.error());
  return AskedBind{*std::move(binding), *ActorId::parse(*id), *generation, (*table)->remaining(),
                   (*table)->sent_at()};
}

FlatBufferBuilder unbind_body(const BindingIdentity& binding, bool has_disconnected) {
  FlatBufferBuilder builder;
  const body::Binding name = write_binding(binding);
  builder.Finish(body::CreateUnbind(builder, &name, has_disconnected));
  return builder;
}

Result<AskedUnbind> read_unbind(const PeerMessage& message) {
  const auto table = read_body<body::Unbind>(message);
  if (!table) return fail(table.error());
  auto binding = read_binding(message, *(*table)->binding(), message.from);
  if (!binding) return fail(binding.error());
  return AskedUnbind{*std::move(binding), (*table)->has_disconnected()};
}

FlatBufferBuilder session_packet(const BindingIdentity& binding, std::uint64_t sequence,
                                 const Message& message, const std::optional<Instant>& deadline,
                                 Instant now) {
  FlatBufferBuilder builder(message.payload().size() + 256);
  const auto packet = write_packet(builder, message);
  const body::Binding name = write_binding(binding);
  const std::uint64_t remaining = deadline.has_value() ? remaining_time(*deadline, now) : 0;
  builder.Finish(body::CreateSessionPacket(builder, &name, sequence, packet, remaining,
                                           now.since_origin.count()));
  return builder;
}

Result<ReadSessionPacket> read_session_packet(const PeerMessage& message,
                                              const FrozenApplication& application) {
  const auto table = read_body<body::SessionPacket>(message);
  if (!table) return fail(table.error());
  auto binding = read_binding(message, *(*table)->binding(), message.from);
  if (!binding) return fail(binding.error());
  auto packet = read_packet(message, *(*table)->message(), application);
  if (!packet && packet.error().kind() == ErrorKind::ProtocolError) return fail(packet.error());
  return ReadSessionPacket{*std::move(binding), (*table)->sequence(), std::move(packet),
                           (*table)->remaining(), (*table)->sent_at()};
}

FlatBufferBuilder session_taken(const BindingIdentity& binding, std::uint64_t sequence) {
  FlatBufferBuilder builder;
  const body::Binding name = write_binding(binding);
  builder.Finish(body::CreateSessionTaken(builder, &name, sequence));
  return builder;
}

Result<ReadSessionTaken> read_session_taken(const PeerMessage& message, const mesh::Peer& here) {
  const auto table = read_body<body::SessionTaken>(message);
  if (!table) return fail(table.error());
  auto binding = read_binding(message, *(*table)->binding(), here);
  if (!binding) return fail(binding.error());
  return ReadSessionTaken{*std::move(binding), (*table)->sequence()};
}

FlatBufferBuilder session_push(const BindingIdentity& binding, const Message& message) {
  FlatBufferBuilder builder(message.payload().size() + 256);
  const auto packet = write_packet(builder, message);
  const body::Binding name = write_binding(binding);
  builder.Finish(body::CreateSessionPush(builder, &name, packet));
  return builder;
}

Result<ReadSessionPush> read_session_push(const PeerMessage& message, const mesh::Peer& here,
                                          const FrozenApplication& application) {
  const auto table = read_body<body::SessionPush>(message);
  if (!table) return fail(table.error());
  auto binding = read_binding(message, *(*table)->binding(), here);
  if (!binding) return fail(binding.error());
  auto packet = read_packet(message, *(*table)->message(), application);
  if (!packet) return fail(packet.error());
  return ReadSessionPush{*std::move(binding), *std::move(packet)};
}

FlatBufferBuilder binding_news(const BindingIdentity& binding, BindingEvent event,
                               std::string_view reason) {
  FlatBufferBuilder builder;
  flatbuffers::Offset<flatbuffers::String> text;
  if (!reason.empty()) {
    text = builder.CreateString(wire::as_utf8(reason, limits::peer_error_bytes));
  }
  const body::Binding name = write_binding(binding);
  builder.Finish(body::CreateBindingNews(builder, &name, news_of(event), text));
  return builder;
}

Result<ReadBindingNews> read_binding_news(const PeerMessage& message, const mesh::Peer& here) {
  const auto table = read_body<body::BindingNews>(message);
  if (!table) return fail(table.error());
  auto binding = read_binding(message, *(*table)->binding(), here);
  if (!binding) return fail(binding.error());
  const auto event = read_event(message, (*table)->news());
  if (!event) return fail(event.error());
  const auto* text = (*table)->reason();
  const std::string_view reason = wire::cut_at_character(
      text == nullptr ? std::string_view() : view_of(*text), limits::peer_error_bytes);
  if (!is_valid_utf8(reason)) return fail(unsound(message, "its reason is not UTF-8"));
  return ReadBindingNews{*std::move(binding), *event, std::string(reason)};
}

}  // namespace spotmesh::objects
