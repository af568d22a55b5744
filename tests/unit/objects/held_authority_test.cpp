#include "objects/held_authority.hpp"

#include <catch2/catch.hpp>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace spotmesh::objects {
namespace {

location::TerminalRecord ended(std::string source, std::uint64_t operation) {
  return {.key = {.source_rid = {std::move(source)},
                  .source_lifecycle = {1, 2},
                  .operation = {3, operation}},
          .kind = location::OperationKind::Create,
          .outcome = location::TerminalOutcome::Accepted,
          .object_generation = {40},
          .reply = {},
          .error = {},
          .keep_until = {1'700'000'000'000}};
}

location::VersionedAuthority said(std::vector<location::TerminalRecord> terminals) {
  location::AuthorityRecord record{
      .state = location::AuthorityState::Ready,
      .kind = location::ObjectKind::Actor,
      .stable_type = *StableType::parse("player"),
      .object_generation = {40},
      .owner_generation = {7},
      .takeover_count = 2,
      .owner = {*location::OwnerId::parse("play-1"), {5}, {"play-1"}, {8, 9}},
      .mesh = "play",
      .reservation = {11, 12},
      .membership = location::Membership{*SpotId::parse("hall"), {30}, {3}, true},
      .terminals = std::move(terminals)};
  return {std::move(record), {location::StoreEpoch{1, 1}, 99}};
}

void check_kept(const location::VersionedAuthority& authority) {
  AuthorityParts parts;
  HeldAuthority held(authority, parts);
  CHECK(held.record() == authority.record);
  CHECK(held.version() == authority.version);
  CHECK(held.unpacked().record == authority.record);
}

TEST_CASE("an Actor's authority is given back as the store said it") {
  check_kept(said({}));
  check_kept(said({ended("play-1", 1)}));
  auto unbound = said({ended("play-1", 1)});
  unbound.record.membership.reset();
  check_kept(unbound);
}

TEST_CASE("what other operations ended with is given back, too") {
  check_kept(said({ended("play-1", 1), ended("play-2", 2)}));
  auto replied = ended("play-1", 1);
  replied.reply = location::StoredReply{{17}, SharedBytes(to_bytes("welcome"))};
  check_kept(said({replied}));
  auto failed = ended("play-1", 1);
  failed.outcome = location::TerminalOutcome::Failed;
  failed.error = Error::unavailable("the store was away");
  check_kept(said({failed}));
}

TEST_CASE("a version changes without the record") {
  AuthorityParts parts;
  HeldAuthority held(said({ended("play-1", 1)}), parts);
  const location::StoreVersion later{location::StoreEpoch{2, 2}, 5};
  held.set_version(later);
  CHECK(held.version() == later);
  CHECK(held.record() == said({ended("play-1", 1)}).record);
}

TEST_CASE("what records have alike is kept once") {
  AuthorityParts parts;
  AlikeAuthority alike{.state = location::AuthorityState::Ready,
                       .kind = location::ObjectKind::Actor,
                       .stable_type = *StableType::parse("player"),
                       .owner = {*location::OwnerId::parse("play-1"), {5}, {"play-1"}, {8, 9}},
                       .mesh = "play",
                       .membership = {},
                       .source_rid = {},
                       .source_lifecycle = {}};
  const auto first = parts.find_or_add(alike);
  CHECK(parts.find_or_add(alike) == first);
  // So many kinds that the first is forgotten: it is kept anew, and as it was.
  for (int i = 0; i < 20; ++i) {
    AlikeAuthority other = alike;
    other.mesh = "mesh-" + std::to_string(i);
    parts.find_or_add(other);
  }
  const auto again = parts.find_or_add(alike);
  CHECK(again != first);
  CHECK(*again == *first);
}

}  // namespace
}  // namespace spotmesh::objects
