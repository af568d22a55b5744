// Records and ids for the tests of this folder.
#pragma once

#include <catch2/catch.hpp>
#include <string>
#include <string_view>

#include "location/records.hpp"

namespace spotmesh::testing {

template <typename Id>
Id id_of(std::string_view text) {
  auto parsed = Id::parse(text);
  REQUIRE(parsed);
  return *parsed;
}

inline location::OwnerStamp stamp_of(const std::string& node, std::uint64_t generation = 1) {
  return {.owner = id_of<location::OwnerId>(node),
          .lease_generation = {generation},
          .rid = {node},
          .lifecycle = {generation, std::hash<std::string>{}(node)}};
}

inline location::StoredReply reply_of(std::string_view text) {
  return {PacketId{0x01020304}, SharedBytes(to_bytes(text))};
}

inline location::OperationKey operation_of(std::uint64_t number, const std::string& node = "a") {
  return {NodeRid{node}, LifecycleId{1, 2}, OperationId{9, number}};
}

inline location::TerminalRecord terminal_of(std::uint64_t number, std::int64_t keep_until) {
  location::TerminalRecord terminal;
  terminal.key = operation_of(number);
  terminal.reply = reply_of("reply " + std::to_string(number));
  terminal.keep_until = {keep_until};
  return terminal;
}

inline location::AuthorityRecord authority_of(const location::OwnerStamp& owner) {
  return {.state = location::AuthorityState::Ready,
          .kind = location::ObjectKind::Actor,
          .stable_type = id_of<StableType>("player"),
          .object_generation = {(owner.lease_generation.value << 32) | 1},
          .owner_generation = {1},
          .takeover_count = 0,
          .owner = owner,
          .mesh = "play",
          .reservation = {3, 4},
          .membership = {},
          .terminals = {}};
}

}  // namespace spotmesh::testing
