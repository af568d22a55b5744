// What other nodes claim is looked at before it is used.
#include <catch2/catch.hpp>
#include <functional>
#include <string>

#include "checks.hpp"
#include "desk.hpp"
#include "objects/creation_bodies.hpp"
#include "objects/peer_bodies.hpp"

using namespace spotmesh;
using namespace spotmesh::objects;

namespace {

using flatbuffers::FlatBufferBuilder;

PeerMessage message_of(PeerKind kind, const FlatBufferBuilder& body) {
  return *open_peer_message({NodeRid{"other"}, LifecycleId{1, 2}}, peer_bytes(kind, 7, &body));
}

Error failure_of(std::uint8_t kind, const std::string& text) {
  FlatBufferBuilder builder;
  const auto offset = builder.CreateString(text);
  builder.Finish(body::CreateFailure(builder, kind, offset));
  return read_failure(message_of(PeerKind::Failure, builder));
}

}  // namespace

TEST_CASE("an error's text is UTF-8, whatever was thrown, and nothing else is taken for one",
          "[ERR-06]") {
  FlatBufferBuilder builder;
  write_failure(builder, Error::internal_failure("a plan \xff gone"));
  const Error read = read_failure(message_of(PeerKind::Failure, builder));
  CHECK(read.kind() == ErrorKind::InternalFailure);
  CHECK(read.message() == "a plan \xef\xbf\xbd gone");

  CHECK(failure_of(0, "not there").kind() == ErrorKind::NotFound);
  CHECK(failure_of(0, "\xff").kind() == ErrorKind::ProtocolError);
  CHECK(failure_of(static_cast<std::uint8_t>(error_kind_count), "").kind() ==
        ErrorKind::ProtocolError);
}

TEST_CASE("metadata that is not UTF-8 is a protocol error", "[MSG-12]") {
  OneNode one;
  const auto read = [&](const std::string& key, const std::string& value) {
    Message message = Message::of(probe::Note{.text = "x"});
    message.metadata().emplace_back(key, value);
    FlatBufferBuilder builder;
    builder.Finish(body::CreateReply(builder, write_packet(builder, message)));
    const PeerMessage sent = message_of(PeerKind::Reply, builder);
    return read_packet(sent, *(*read_body<body::Reply>(sent))->message(), one->core().application);
  };
  CHECK(read("k", "v").has_value());
  check_error(read("\xff", "v"), ErrorKind::ProtocolError, "UTF-8");
  check_error(read("k", "\xff"), ErrorKind::ProtocolError, "UTF-8");
}

TEST_CASE("what a node says it has created is somewhere, and is an incarnation") {
  OneNode one;
  const auto read = [&](const std::function<void(CreateReply&)>& change) {
    CreateReply reply{.kind = CreateReply::Kind::Created,
                      .generation = {3},
                      .mesh = "play",
                      .node = NodeRid{"other"},
                      .reply = {}};
    change(reply);
    FlatBufferBuilder builder;
    write_create_answer(builder, {.result = reply});
    return read_create_answer(message_of(PeerKind::CreateAnswer, builder), one->core().application);
  };
  REQUIRE(read([](CreateReply&) {}).has_value());
  const auto refused = [&](const std::function<void(CreateReply&)>& change) {
    check_error(read(change), ErrorKind::ProtocolError, "other");
    check_error(read([&](CreateReply& reply) {
                  change(reply);
                  reply.kind = CreateReply::Kind::Existing;
                }),
                ErrorKind::ProtocolError, "other");
  };
  refused([](CreateReply& reply) { reply.generation = {}; });
  refused([](CreateReply& reply) { reply.generation = {max_counter + 1}; });
  refused([](CreateReply& reply) { reply.mesh.clear(); });
  refused([](CreateReply& reply) { reply.node = {}; });
  refused([](CreateReply& reply) { reply.node = NodeRid{"\xff"}; });
  // A rejection is nowhere.
  CHECK(
      read([](CreateReply& reply) { reply = {.kind = CreateReply::Kind::Rejected}; }).has_value());
}

TEST_CASE("a destroy names an incarnation") {
  Desk desk;
  for (const std::uint64_t generation : {std::uint64_t{0}, max_counter + 1}) {
    FlatBufferBuilder builder;
    const auto id = builder.CreateString("anna");
    builder.Finish(body::CreateEnd(builder, id, generation, 1'000'000'000));
    desk.receive(PeerKind::Destroy, 7, builder);
    const auto sent = desk.peers.take();
    REQUIRE(sent.size() == 1);
    CHECK(read_failure(sent[0].message).kind() == ErrorKind::ProtocolError);
  }
  CHECK(desk.unsound() == 2);
}
