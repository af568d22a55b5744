#include <catch2/catch.hpp>
#include <chrono>

#include "chat.packets.hpp"
#include "stream/bound_actors.hpp"
#include "stream/json_protocol.hpp"
#include "stream/push_encodings.hpp"
#include "stream/request_table.hpp"

using namespace spotmesh;
using namespace spotmesh::stream;
using namespace std::chrono_literals;

namespace {

wire::PacketCatalog chat_catalog() {
  wire::PacketCatalog catalog;
  catalog.add(chat::packets());
  return catalog;
}

objects::BindingIdentity identity(std::uint64_t generation) {
  return {
      .session = {1, 1}, .session_owner = {2, 2}, .session_node = {"n"}, .generation = generation};
}

ActorRef actor(const std::string& id, std::uint64_t generation = 1) {
  return {*ActorId::parse(id), {generation}, "play", {"n"}};
}

}  // namespace

TEST_CASE("one encoding of a push is shared by all who get the same message") {
  const auto catalog = chat_catalog();
  JsonProtocol first(catalog, 1000);
  JsonProtocol second(catalog, 1000);
  objects::Count encoded;
  PushEncodings encodings(encoded);
  const Message message = Message::of(chat::Notice{.number = 1, .text = "x"});
  const auto one = encodings.encode(first, message);
  const auto other = encodings.encode(second, Message(message));
  REQUIRE(one);
  CHECK(one->view().data() == other->view().data());
  // The same content anew is another message.
  const auto again = encodings.encode(first, Message::of(chat::Notice{.number = 1, .text = "x"}));
  CHECK(again->view().data() != one->view().data());
  CHECK(encoded.value() == 2);
}

TEST_CASE("a remembered encoding is never given for another message at the same address") {
  const auto catalog = chat_catalog();
  JsonProtocol protocol(catalog, 1000);
  objects::Count encoded;
  PushEncodings encodings(encoded);
  for (int i = 0; i < 500; ++i) {
    // Freed at once, so that addresses come again as soon as nobody keeps them.
    const auto frame = encodings.encode(protocol, Message::of(chat::Notice{.number = i}));
    REQUIRE(as_text(frame->view()).find("\"number\":" + std::to_string(i) + ",") !=
            std::string_view::npos);
  }
}

TEST_CASE("a push that JSON cannot say, or that no schema names, is an error of the pusher") {
  const auto catalog = chat_catalog();
  JsonProtocol protocol(catalog, 1000);
  CHECK(protocol.encode_push(Message()).error().kind() == ErrorKind::InvalidOperation);
  const auto not_a_number = std::numeric_limits<float>::quiet_NaN();
  CHECK(protocol.encode_push(Message::of(chat::Ratio{.value = not_a_number})).error().kind() ==
        ErrorKind::InvalidOperation);
  const wire::PacketCatalog nothing;
  JsonProtocol ignorant(nothing, 1000);
  CHECK(ignorant.encode_push(Message::of(chat::Notice{})).error().kind() ==
        ErrorKind::NotConfigured);
}

TEST_CASE("a request is answered by whoever removes it, and its seq may come again after that") {
  RequestTable table(2);
  const auto first = table.add({7}, Instant{10s});
  CHECK(table.has(wire::RequestSeq{7}));
  CHECK(table.remove(first));
  CHECK_FALSE(table.remove(first));
  const auto second = table.add({7}, Instant{20s});
  CHECK_FALSE(table.has(first));
  CHECK_FALSE(table.remove(first));
  CHECK(table.has(second));
  table.add({8}, Instant{30s});
  CHECK(table.is_full());
  CHECK(table.next_deadline() == Instant{20s});
  CHECK_FALSE(table.take_expired(Instant{19s}));
  CHECK(table.take_expired(Instant{20s})->value == 7);
  CHECK_FALSE(table.take_expired(Instant{20s}));
  CHECK(table.size() == 1);
}

TEST_CASE("bindings are pending, then bound, and bounded in number") {
  BoundActors bound(2);
  REQUIRE(bound.begin(actor("a"), identity(1)));
  CHECK(bound.has(std::uint64_t{1}));
  CHECK(bound.only_one() == nullptr);
  CHECK(bound.finish(1, true));
  CHECK(bound.only_one()->actor == actor("a"));
  REQUIRE(bound.begin(actor("b"), identity(2)));
  CHECK(bound.begin(actor("c"), identity(3)).error().kind() == ErrorKind::CapacityExceeded);
  CHECK(bound.finish(2, false));
  CHECK_FALSE(bound.has(std::uint64_t{2}));
  REQUIRE(bound.begin(actor("b"), identity(4)));
  CHECK(bound.finish(4, true));
  CHECK(bound.only_one() == nullptr);
  CHECK(bound.actors() == std::vector<ActorRef>{actor("a"), actor("b")});
}

TEST_CASE("a later incarnation takes the place of the earlier one in the same session") {
  BoundActors bound(4);
  REQUIRE(bound.begin(actor("a", 1), identity(1)));
  bound.finish(1, true);
  REQUIRE(bound.begin(actor("a", 2), identity(2)));
  bound.finish(2, true);
  CHECK(bound.actors() == std::vector<ActorRef>{actor("a", 2)});
}

TEST_CASE("a bind that is answered after the session has ended must be undone") {
  BoundActors bound(4);
  REQUIRE(bound.begin(actor("a"), identity(1)));
  bound.finish(1, true);
  REQUIRE(bound.begin(actor("b"), identity(2)));
  CHECK(bound.end().size() == 1);
  CHECK(bound.end().empty());
  CHECK_FALSE(bound.finish(2, true));
  CHECK(bound.begin(actor("c"), identity(3)).error().kind() == ErrorKind::Unavailable);
  // What was bound stays to be seen in the disconnect callback.
  CHECK(bound.actors() == std::vector<ActorRef>{actor("a")});
}
