#include <catch2/catch.hpp>
#include <cstdint>
#include <cstring>
#include <string>

#include <spotmesh/limits.hpp>

#include "location/keys.hpp"
#include "location/record_format.hpp"
#include "location/records.hpp"
#include "sample_records.hpp"

using namespace spotmesh;
using namespace spotmesh::location;
using namespace spotmesh::testing;
using namespace std::string_literals;
using Catch::Matchers::Contains;

namespace {

NodeDescriptor full_descriptor() {
  return {.stamp = stamp_of("node-a", 7),
          .is_stream_gateway = true,
          .application_version = "1.2.3",
          .state = HostState::Draining,
          .advertised_address = "10.0.0.1:7000",
          .meshes = {{.mesh = "play",
                      .is_object_server = true,
                      .is_object_client = false,
                      .weight = 10'000,
                      .pending_limit = 128,
                      .actor_types = {id_of<StableType>("player"), id_of<StableType>("spieler-ü")},
                      .spot_types = {{id_of<StableType>("room"), 7, 8}},
                      .actors = {.active = 1, .pending = 2, .limit = 3},
                      .spots = {.active = 4, .pending = 5, .limit = 6}},
                     {.mesh = "chat",
                      .is_object_server = false,
                      .is_object_client = true,
                      .weight = 0,
                      .pending_limit = 0,
                      .actor_types = {},
                      .spot_types = {},
                      .actors = {},
                      .spots = {}}}};
}

AuthorityRecord full_authority() {
  AuthorityRecord record = authority_of(stamp_of("node-a", 7));
  record.takeover_count = 3;
  record.reserved_in = {5, 6};
  record.membership = Membership{.spot = id_of<SpotId>("room/\xf0\x9f\x8e\xb2"),
                                 .spot_generation = {11},
                                 .spot_owner_generation_at_join = {2},
                                 .owner_follows_spot = true};
  record.terminals = {terminal_of(1, 1000), terminal_of(2, 2000), terminal_of(3, 3000)};
  record.terminals[1].outcome = TerminalOutcome::Rejected;
  record.terminals[1].reply.reset();
  record.terminals[2].kind = OperationKind::Join;
  record.terminals[2].outcome = TerminalOutcome::Failed;
  record.terminals[2].reply.reset();
  record.terminals[2].error = Error::data_lost("what\nwas lost");
  return record;
}

std::uint32_t number_at(const Bytes& bytes, std::size_t at) {
  std::uint32_t number = 0;
  std::memcpy(&number, bytes.data() + at, sizeof number);
  return number;
}
void set_number_at(Bytes& bytes, std::size_t at, std::uint32_t number) {
  std::memcpy(bytes.data() + at, &number, sizeof number);
}

// A node's value in which all of its `count` Actor types are the first one's text, with a checksum
// that fits.
Bytes with_first_type_for_all(Bytes value, std::size_t count) {
  std::size_t at = record_header_bytes;
  while (number_at(value, at) != count) at += 4;
  const std::size_t first = at + 4 + number_at(value, at + 4);
  for (std::size_t i = 1; i <= count; ++i) {
    set_number_at(value, at + 4 * i, static_cast<std::uint32_t>(first - (at + 4 * i)));
  }
  std::uint32_t sum = 0x811c9dc5;
  const auto add = [&sum](std::byte byte) {
    sum = (sum ^ std::to_integer<std::uint32_t>(byte)) * 0x01000193;
  };
  add(value[2]);
  add(value[3]);
  for (const std::byte byte : ByteView(value).subspan(record_header_bytes)) add(byte);
  set_number_at(value, 4, sum);
  return value;
}

}  // namespace

TEST_CASE("every record comes back from its bytes as it was") {
  const LeaseRecord lease{stamp_of("node-a", 7), LeaseState::Fenced};
  CHECK(*decode_lease("k", encode(lease)) == lease);
  const BeatRecord beat{42};
  CHECK(*decode_beat("k", encode(beat)) == beat);
  const LeaseCounterRecord counter{{9}, {1, 2}, false};
  CHECK(*decode_lease_counter("k", encode(counter)) == counter);
  CHECK(*decode_node("k", encode(full_descriptor())) == full_descriptor());
  CHECK(*decode_authority("k", encode(full_authority())) == full_authority());
  const AuthorityRecord plain = authority_of(stamp_of("node-a"));
  CHECK(*decode_authority("k", encode(plain)) == plain);
}

TEST_CASE("a record that does not parse is DataLost and names its key, whatever is wrong with it") {
  const std::string key = "spotmesh/actor/odd\n\xff";
  const Bytes sound = encode(full_authority());
  const auto expect_damage = [&](const Bytes& value) {
    const auto decoded = decode_authority(key, value);
    REQUIRE_FALSE(decoded);
    CHECK(decoded.error().kind() == ErrorKind::DataLost);
    CHECK_THAT(decoded.error().message(), Contains("spotmesh/actor/odd\\x0a\\xff"));
  };
  expect_damage({});
  expect_damage(to_bytes("garbage"));
  expect_damage(to_bytes(std::string(200, '\0')));
  SECTION("cut anywhere") {
    for (std::size_t size = 0; size < sound.size(); ++size) {
      expect_damage(Bytes(sound.begin(), sound.begin() + static_cast<std::ptrdiff_t>(size)));
    }
  }
  SECTION("any one bit flipped") {
    for (std::size_t bit = 0; bit < sound.size() * 8; ++bit) {
      Bytes value = sound;
      value[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
      expect_damage(value);
    }
  }
  SECTION("a record of another kind") {
    expect_damage(encode(BeatRecord{1}));
    expect_damage(encode(LeaseRecord{stamp_of("node-a"), LeaseState::Live}));
  }
  SECTION("a record of a later format") {
    Bytes value = sound;
    value[3] = std::byte{2};
    expect_damage(value);
    CHECK_THAT(decode_authority(key, value).error().message(), Contains("format version 2"));
  }
}

TEST_CASE("a record that no node could have written is damaged") {
  AuthorityRecord record = full_authority();
  const auto is_damaged = [&] { return !decode_authority("k", encode(record)).has_value(); };
  SECTION("more terminals than an id may have") {
    while (record.terminals.size() < max_terminals_per_record) {
      record.terminals.push_back(terminal_of(record.terminals.size(), 1));
    }
    CHECK_FALSE(is_damaged());
    record.terminals.push_back(terminal_of(99, 1));
    CHECK(is_damaged());
  }
  SECTION("names that cannot be shown") {
    record.mesh = "\xff";
    CHECK(is_damaged());
  }
  SECTION("a node id longer than any id") {
    record.owner.rid.text = std::string(max_id_bytes, 'r');
    CHECK_FALSE(is_damaged());
    record.owner.rid.text += 'r';
    CHECK(is_damaged());
  }
  SECTION("a count that cannot grow") {
    record.takeover_count = max_counter + 1;
    CHECK(is_damaged());
  }
}

TEST_CASE("an error of the application is kept with whatever bytes its message has") {
  AuthorityRecord record = full_authority();
  TerminalRecord terminal = terminal_of(1, 1);
  terminal.reply.reset();
  terminal.outcome = TerminalOutcome::Failed;
  terminal.error = Error::rejected("\xff\xfe");
  record.terminals = {terminal};
  CHECK(*decode_authority("k", encode(record)) == record);
}

TEST_CASE("a node tells of a bounded number of meshes") {
  NodeDescriptor node = full_descriptor();
  node.meshes.resize(max_meshes_per_node);
  CHECK(*decode_node("k", encode(node)) == node);
  node.meshes.emplace_back();
  const auto damaged = decode_node("k", encode(node));
  REQUIRE_FALSE(damaged);
  CHECK_THAT(damaged.error().message(), Contains("too many meshes"));
}

TEST_CASE("a text that many references share is not copied for each of them") {
  NodeDescriptor node = full_descriptor();
  auto& types = node.meshes.front().actor_types;
  types.assign(90, id_of<StableType>("y"));
  types.front() = id_of<StableType>(std::string(max_id_bytes, 'x'));
  const auto sound = decode_node("k", encode(node));
  REQUIRE(sound);
  CHECK(sound->meshes.front().actor_types == types);
  const Bytes shared = with_first_type_for_all(encode(node), types.size());
  const auto damaged = decode_node("k", shared);
  REQUIRE_FALSE(damaged);
  CHECK_THAT(damaged.error().message(), Contains("its texts are shared"));
}

TEST_CASE("a record is read the same from any address") {
  const Bytes sound = encode(full_authority());
  for (std::size_t offset = 0; offset < 8; ++offset) {
    Bytes buffer(offset, std::byte{0});
    buffer.insert(buffer.end(), sound.begin(), sound.end());
    CHECK(*decode_authority("k", ByteView(buffer).subspan(offset)) == full_authority());
  }
}

TEST_CASE("keys of different ids and kinds never meet, and none is too long", "[ID-02]") {
  const std::string longest(max_id_bytes, 'x');
  CHECK(keys::actor(id_of<ActorId>(longest)).size() <= max_store_key_bytes);
  CHECK(keys::spot(id_of<SpotId>(longest)).size() <= max_store_key_bytes);
  CHECK(keys::actor(id_of<ActorId>("x")) != keys::spot(id_of<SpotId>("x")));
  CHECK(keys::actor(id_of<ActorId>("a/b")) != keys::actor(id_of<ActorId>("a%2fb")));
  CHECK(keys::actor(id_of<ActorId>("Player")) != keys::actor(id_of<ActorId>("player")));
  CHECK(keys::actor(id_of<ActorId>("a\0b"s)) != keys::actor(id_of<ActorId>("a")));
  CHECK(keys::actor(id_of<ActorId>("x")).starts_with(keys::actor_prefix));
  CHECK(keys::lease(id_of<OwnerId>("x")) != keys::beat(id_of<OwnerId>("x")));
}

TEST_CASE("terminals of an id are found by operation, expire, and are bounded") {
  AuthorityRecord record = authority_of(stamp_of("node-a"));
  add_terminal(record, terminal_of(1, 1000), {500});
  add_terminal(record, terminal_of(2, 5000), {500});
  REQUIRE(find_terminal(record, operation_of(1)) != nullptr);
  CHECK(find_terminal(record, operation_of(1))->keep_until.unix_milliseconds == 1000);
  CHECK(find_terminal(record, operation_of(9)) == nullptr);
  CHECK(find_terminal(record, operation_of(1, "other-node")) == nullptr);

  SECTION("one that is past its time goes when another comes") {
    add_terminal(record, terminal_of(3, 5000), {1001});
    CHECK(find_terminal(record, operation_of(1)) == nullptr);
    CHECK(find_terminal(record, operation_of(2)) != nullptr);
  }
  SECTION("the same operation stands once") {
    add_terminal(record, terminal_of(2, 6000), {500});
    CHECK(record.terminals.size() == 2);
    CHECK(find_terminal(record, operation_of(2))->keep_until.unix_milliseconds == 6000);
  }
  SECTION("past the bound the oldest go") {
    for (std::uint64_t i = 3; i < 40; ++i) add_terminal(record, terminal_of(i, 5000), {500});
    CHECK(record.terminals.size() == max_terminals_per_record);
    CHECK(find_terminal(record, operation_of(39)) != nullptr);
    CHECK(find_terminal(record, operation_of(23)) == nullptr);
  }
  SECTION("the text of an error is cut, and is text then") {
    TerminalRecord terminal = terminal_of(3, 5000);
    terminal.reply.reset();
    terminal.error = Error::internal_failure(std::string(5 * 1024 * 1024, '\xff'));
    terminal.outcome = TerminalOutcome::Failed;
    add_terminal(record, terminal, {500});
    CHECK(encode(record).size() < 2 * limits::peer_error_bytes);
    const auto decoded = decode_authority("key", encode(record));
    REQUIRE(decoded);
    CHECK(find_terminal(*decoded, operation_of(3))->error->kind() == ErrorKind::InternalFailure);
  }
  SECTION("replies are bounded together, and the record fits the store") {
    for (std::uint64_t i = 3; i < 10; ++i) {
      TerminalRecord terminal = terminal_of(i, 5000);
      terminal.reply = reply_of(std::string(1024 * 1024, 'r'));
      add_terminal(record, std::move(terminal), {500});
    }
    CHECK(record.terminals.size() == 2);
    CHECK(encode(record).size() < max_store_value_bytes);
  }
}
