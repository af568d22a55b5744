// What the object sides of nodes say to each other: whatever a peer sends, it is read soundly and
// within bounds, or refused with words that can be shown.
#include <algorithm>
#include <cstdint>
#include <spotmesh/application.hpp>
#include <spotmesh/limits.hpp>
#include <string_view>
#include <utility>

#include "base/utf8.hpp"
#include "fuzz/fuzz.hpp"
#include "objects/binding_bodies.hpp"
#include "objects/creation_bodies.hpp"
#include "objects/frozen_application.hpp"
#include "objects/peer_bodies.hpp"
#include "objects/peer_topics.hpp"
#include "zoo.packets.hpp"

namespace spotmesh::fuzz {
namespace {

using namespace objects;
using flatbuffers::FlatBufferBuilder;

const FrozenApplication& application() {
  static Application app;
  static const FrozenApplication frozen = [] {
    app.packets(zoo::packets());
    return FrozenApplication(app);
  }();
  return frozen;
}

PeerMessage message_of(PeerKind kind, const FlatBufferBuilder& body) {
  return *open_peer_message({NodeRid{"peer"}, LifecycleId{1, 2}}, peer_bytes(kind, 1, &body));
}

// Whether it was read; if not, it is refused as it should be.
template <typename T>
bool is_read(const Result<T>& read) {
  if (read) return true;
  const ErrorKind kind = read.error().kind();
  require(kind == ErrorKind::ProtocolError || kind == ErrorKind::NotFound,
          "a refusal is ProtocolError, or NotFound for a packet that nobody knows");
  require(is_valid_utf8(read.error().message()), "a refusal can be shown");
  return false;
}

void check_id(std::string_view id) {
  require(!id.empty() && id.size() <= max_id_bytes && is_valid_utf8(id), "an id is one");
}

void check_error(const Error& error) {
  require(static_cast<std::size_t>(error.kind()) < error_kind_count, "an error has a kind");
  require(is_valid_utf8(error.message()), "an error can be shown");
  // Names of nodes may stand before what was sent.
  require(error.message().size() <= limits::peer_error_bytes + 1024, "an error's text is bounded");
}

void check_packet(const Message& message) {
  std::size_t bytes = 0;
  for (const auto& [key, value] : message.metadata()) {
    require(is_valid_utf8(key) && is_valid_utf8(value), "metadata is text");
    bytes += key.size() + value.size();
  }
  require(message.metadata().size() <= limits::metadata_pairs && bytes <= limits::metadata_bytes,
          "metadata is bounded");
  require(message.is_empty() || message.payload().size() <= limits::message_bytes,
          "a payload is bounded");
}

void check_packet(const PeerMessage& message, const body::Packet& packet) {
  const auto read = read_packet(message, packet, application());
  if (is_read(read)) check_packet(*read);
}

void check_target(const PeerMessage& message, body::Target target,
                  const flatbuffers::String& text) {
  const auto kind = read_target(message, target);
  if (!is_read(kind)) return;
  const auto id = read_id(message, text, *kind);
  if (is_read(id)) check_id(*id);
}

void check_delivery(const PeerMessage& message) {
  const auto table = read_body<body::Delivery>(message);
  if (!is_read(table)) return;
  check_target(message, (*table)->target(), *(*table)->id());
  check_packet(message, *(*table)->message());
  if ((*table)->asker() != nullptr) {
    check_target(message, (*table)->asker_target(), *(*table)->asker());
  }
  const Instant now{std::chrono::hours(1)};
  const Instant deadline = deadline_after(now, (*table)->remaining());
  require(deadline >= now && deadline - now <= limits::peer_longest_time, "a time is bounded");
}

void check_reply(const PeerMessage& message) {
  const auto table = read_body<body::Reply>(message);
  if (is_read(table)) check_packet(message, *(*table)->message());
}

void check_stale(const PeerMessage& message) {
  const auto table = read_body<body::Stale>(message);
  if (is_read(table)) check_target(message, (*table)->target(), *(*table)->id());
}

void check_end(const PeerMessage& message) {
  const auto table = read_body<body::End>(message);
  if (!is_read(table)) return;
  check_target(message, body::Target::Spot, *(*table)->id());
  const auto generation = read_generation(message, (*table)->generation());
  require(!is_read(generation) || (generation->value >= 1 && generation->value <= max_counter),
          "a generation is one");
}

void check_create(const PeerMessage& message) {
  const auto asked = read_create(message);
  if (!is_read(asked)) return;
  check_id(asked->id);
  check_id(asked->type.text());
  require(!asked->operation.is_none(), "an operation has an id");
  require(asked->mesh.size() <= max_id_bytes && is_valid_utf8(asked->mesh), "a mesh has a name");
  const auto request = read_create_request(message, application());
  if (!is_read(request)) return;
  check_packet(*request);
  require(request->payload().size() <= limits::create_request_bytes, "a request is bounded");
}

void check_create_answer(const PeerMessage& message) {
  const auto end = read_create_answer(message, application());
  if (!is_read(end)) return;
  if (!end->result) {
    check_error(end->result.error());
  } else {
    check_packet(end->result->reply);
    require(end->result->kind == CreateReply::Kind::Rejected ||
                (end->result->generation.value >= 1 && !end->result->mesh.empty() &&
                 !end->result->node.text.empty()),
            "what lives is an incarnation somewhere");
  }
  FlatBufferBuilder builder;
  write_create_answer(builder, *end);
  const auto again = read_create_answer(message_of(message.kind, builder), application());
  require(again.has_value() && again->is_turned_away == end->is_turned_away &&
              again->result.has_value() == end->result.has_value(),
          "an answer survives being written");
  require(!end->result || (again->result->kind == end->result->kind &&
                           again->result->generation == end->result->generation &&
                           again->result->node == end->result->node),
          "a place survives being written");
}

void check_operation(const PeerMessage& message) {
  const auto operation = read_operation(message);
  if (!is_read(operation)) return;
  FlatBufferBuilder builder;
  write_operation(builder, *operation);
  require(read_operation(message_of(message.kind, builder)) == *operation,
          "an operation survives being written");
}

void check_topic(const TopicKey& key) {
  check_id(key.mesh);
  check_id(key.topic.channel);
  check_id(key.topic.name);
}

void check_publication(const PeerMessage& message) {
  const auto read = read_publication(message, application());
  if (!is_read(read)) return;
  check_topic(read->topic);
  check_packet(read->message);
}

void check_topic_change(const PeerMessage& message) {
  const auto change = read_topic_change(message);
  if (!is_read(change)) return;
  check_topic(change->topic);
  const auto body = topic_change(change->topic, change->has_subscriber);
  const auto again = read_topic_change(message_of(message.kind, body));
  require(again.has_value() && again->topic == change->topic &&
              again->has_subscriber == change->has_subscriber,
          "a change survives being written");
}

void check_binding(const BindingIdentity& binding) {
  require(!binding.session.is_none() && binding.generation != 0 && !binding.session_owner.is_none(),
          "a binding has a name");
}

void check_bind(const PeerMessage& message) {
  const auto asked = read_bind(message);
  if (!is_read(asked)) return;
  check_binding(asked->binding);
  check_id(asked->actor.text());
  const Instant now{std::chrono::hours(1)};
  const auto again = read_bind(message_of(
      message.kind, bind_body(asked->binding, asked->actor, asked->generation, now, now)));
  require(again.has_value() && again->binding == asked->binding && again->actor == asked->actor &&
              again->generation == asked->generation,
          "a bind survives being written");
}

void check_unbind(const PeerMessage& message) {
  const auto asked = read_unbind(message);
  if (!is_read(asked)) return;
  check_binding(asked->binding);
  const auto again =
      read_unbind(message_of(message.kind, unbind_body(asked->binding, asked->has_disconnected)));
  require(again.has_value() && again->binding == asked->binding &&
              again->has_disconnected == asked->has_disconnected,
          "an unbind survives being written");
}

void check_session_packet(const PeerMessage& message) {
  const auto read = read_session_packet(message, application());
  if (!is_read(read)) return;
  check_binding(read->binding);
  if (is_read(read->message)) check_packet(*read->message);
}

void check_session_taken(const PeerMessage& message) {
  const auto read = read_session_taken(message, message.from);
  if (is_read(read)) check_binding(read->binding);
}

void check_session_push(const PeerMessage& message) {
  const auto read = read_session_push(message, message.from, application());
  if (!is_read(read)) return;
  check_binding(read->binding);
  check_packet(read->message);
}

void check_binding_news(const PeerMessage& message) {
  const auto read = read_binding_news(message, message.from);
  if (!is_read(read)) return;
  check_binding(read->binding);
  require(is_valid_utf8(read->reason) && read->reason.size() <= limits::peer_error_bytes,
          "a reason can be shown");
  const auto again = read_binding_news(
      message_of(message.kind, binding_news(read->binding, read->event, read->reason)),
      message.from);
  require(again.has_value() && again->binding == read->binding && again->event == read->event &&
              again->reason == read->reason,
          "news survive being written");
}

void check(const PeerMessage& message) {
  require(is_valid_utf8(to_string(message.kind)), "a kind has a name");
  switch (message.kind) {
    case PeerKind::Failure:
      return check_error(read_failure(message));
    case PeerKind::Send:
    case PeerKind::Request:
      return check_delivery(message);
    case PeerKind::Reply:
      return check_reply(message);
    case PeerKind::Stale:
      return check_stale(message);
    case PeerKind::Create:
      return check_create(message);
    case PeerKind::CreateAnswer:
      return check_create_answer(message);
    case PeerKind::Destroy:
    case PeerKind::Close:
      return check_end(message);
    case PeerKind::Ended:
      return static_cast<void>(is_read(read_body<body::Ended>(message)));
    case PeerKind::Admitted:
    case PeerKind::Withdraw:
      return check_operation(message);
    case PeerKind::Bind:
      return check_bind(message);
    case PeerKind::Unbind:
      return check_unbind(message);
    case PeerKind::SessionSend:
    case PeerKind::SessionRequest:
      return check_session_packet(message);
    case PeerKind::SessionTaken:
      return check_session_taken(message);
    case PeerKind::SessionPush:
      return check_session_push(message);
    case PeerKind::BindingNews:
      return check_binding_news(message);
    case PeerKind::Publication:
      return check_publication(message);
    case PeerKind::TopicChange:
      return check_topic_change(message);
    case PeerKind::Inquiry:
      return static_cast<void>(is_read(read_body<body::Inquiry>(message)));
    case PeerKind::InquiryAnswer:
      return static_cast<void>(is_read(read_body<body::InquiryAnswer>(message)));
    case PeerKind::Fence:
    case PeerKind::FenceAnswer:
    case PeerKind::Bound:
    case PeerKind::TopicChangeSeen:
      return;
  }
}

}  // namespace

// The first byte is the kind, for which a sound header is made; 0: the header is there.
void run(ByteView bytes) {
  Input input(bytes);
  const auto kind = static_cast<PeerKind>(input.take_byte());
  const Bytes rest = input.rest();
  Bytes whole;
  if (kind != PeerKind{}) {
    const SharedBytes header = peer_bytes(kind, 1, nullptr);
    whole.assign(header.view().begin(), header.view().end());
  }
  whole.insert(whole.end(), rest.begin(), rest.end());
  const auto message =
      open_peer_message({NodeRid{"peer"}, LifecycleId{1, 2}}, SharedBytes(std::move(whole)));
  if (is_read(message)) check(*message);
}

}  // namespace spotmesh::fuzz
