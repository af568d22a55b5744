#include "objects/peer_bodies.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <spotmesh/limits.hpp>

#include "base/utf8.hpp"
#include "objects/foreign_packets.hpp"
#include "wire/text.hpp"

namespace spotmesh::objects {

using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;

Offset<body::Packet> write_packet(FlatBufferBuilder& builder, const Message& message) {
  if (message.is_empty()) return body::CreatePacket(builder);
  Offset<flatbuffers::Vector<Offset<body::MetadataPair>>> metadata;
  if (!message.metadata().empty()) {
    std::vector<Offset<body::MetadataPair>> pairs;
    for (const auto& [key, value] : message.metadata()) {
      const auto key_offset = builder.CreateString(key);
      pairs.push_back(body::CreateMetadataPair(builder, key_offset, builder.CreateString(value)));
    }
    metadata = builder.CreateVector(pairs);
  }
  const ByteView bytes = message.payload().view();
  const auto payload =
      builder.CreateVector(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  return body::CreatePacket(builder, message.descriptor()->id.value, payload, metadata);
}

Result<Message> read_packet(const PeerMessage& from, const body::Packet& packet,
                            const FrozenApplication& application) {
  if (packet.packet() == 0) return Message();
  const PacketDescriptor* descriptor = application.find_packet(PacketId{packet.packet()});
  if (descriptor == nullptr) {
    return fail(Error::capacity_exceeded(fmt::format(
        "the packet {:08x} of a message '{}' of node {} is unknown here, as are {} others",
        packet.packet(), to_string(from.kind), from.from.node.text, ForeignPackets::most)));
  }
  SharedBytes payload;
  if (const auto* bytes = packet.payload(); bytes != nullptr && bytes->size() > 0) {
    if (bytes->size() > limits::message_bytes) {
      return fail(unsound(from, fmt::format("its packet has {} bytes", bytes->size())));
    }
    payload = SharedBytes::copy_of(
        {reinterpret_cast<const std::byte*>(bytes->data()), std::size_t{bytes->size()}});
  }
  Message message(*descriptor, std::move(payload));
  const auto* pairs = packet.metadata();
  if (pairs == nullptr) return message;
  // Counted before anything is copied: all pairs may share one text.
  std::size_t size = 0;
  for (const body::MetadataPair* pair : *pairs) {
    size += pair->key()->size() + std::size_t{pair->value()->size()};
  }
  if (pairs->size() > limits::metadata_pairs || size > limits::metadata_bytes) {
    return fail(unsound(
        from, fmt::format("it has metadata of {} pairs and {} bytes", pairs->size(), size)));
  }
  for (const body::MetadataPair* pair : *pairs) {
    if (!is_valid_utf8(view_of(*pair->key())) || !is_valid_utf8(view_of(*pair->value()))) {
      return fail(unsound(from, "its metadata is not UTF-8"));
    }
    message.metadata().emplace_back(view_of(*pair->key()), view_of(*pair->value()));
  }
  return message;
}

body::Target target_of(TargetKind kind) {
  return kind == TargetKind::Actor ? body::Target::Actor : body::Target::Spot;
}

Result<TargetKind> read_target(const PeerMessage& from, body::Target target) {
  if (target == body::Target::Actor) return TargetKind::Actor;
  if (target == body::Target::Spot) return TargetKind::Spot;
  return fail(unsound(from, "it is for neither an Actor nor a Spot"));
}

Result<std::string> read_id(const PeerMessage& from, const flatbuffers::String& text,
                            TargetKind kind) {
  const std::string_view id = view_of(text);
  if (auto valid = validate_id(id, kind == TargetKind::Actor ? "ActorId" : "SpotId"); !valid) {
    return fail(unsound(from, valid.error().message()));
  }
  return std::string(id);
}

Result<ObjectGeneration> read_generation(const PeerMessage& from, std::uint64_t generation) {
  if (generation == 0 || generation > max_counter) {
    return fail(unsound(from, fmt::format("no incarnation has the generation {}", generation)));
  }
  return ObjectGeneration{generation};
}

Offset<flatbuffers::String> write_error_text(FlatBufferBuilder& builder, const Error& error) {
  return builder.CreateString(wire::as_utf8(error.message(), limits::peer_error_bytes));
}

Result<Error> read_error(const PeerMessage& from, std::uint8_t kind,
                         const flatbuffers::String* text) {
  if (kind >= error_kind_count) {
    return fail(unsound(from, fmt::format("its error has the unknown kind {}", kind)));
  }
  const std::string_view all = text == nullptr ? std::string_view() : view_of(*text);
  const std::string_view cut = wire::cut_at_character(all, limits::peer_error_bytes);
  if (!is_valid_utf8(cut)) return fail(unsound(from, "the text of its error is not UTF-8"));
  return Error(static_cast<ErrorKind>(kind), std::string(cut));
}

void write_failure(FlatBufferBuilder& builder, const Error& error) {
  const auto text = write_error_text(builder, error);
  builder.Finish(body::CreateFailure(builder, static_cast<std::uint8_t>(error.kind()), text));
}

Error read_failure(const PeerMessage& failure) {
  const auto table = read_body<body::Failure>(failure);
  if (!table) return table.error();
  auto read = read_error(failure, (*table)->kind(), (*table)->message());
  return read ? *std::move(read) : read.error();
}

Result<Message> read_reply(const Result<PeerMessage>& answer,
                           const FrozenApplication& application) {
  if (!answer) return fail(answer.error());
  if (answer->kind != PeerKind::Reply) {
    return fail(unsound(*answer, "it is no reply to a request"));
  }
  const auto table = read_body<body::Reply>(*answer);
  if (!table) return fail(table.error());
  auto reply = read_packet(*answer, *(*table)->message(), application);
  if (!reply) return fail(Error::protocol_error(reply.error().message()));
  return reply;
}

std::uint64_t remaining_time(Instant deadline, Instant now) {
  return static_cast<std::uint64_t>(std::max(deadline - now, Duration::zero()).count());
}

Instant deadline_after(Instant now, std::uint64_t remaining) {
  constexpr auto longest = static_cast<std::uint64_t>(
      std::chrono::duration_cast<Duration>(limits::peer_longest_time).count());
  return now + Duration(static_cast<Duration::rep>(std::min(remaining, longest)));
}

}  // namespace spotmesh::objects
