// What another node asks for comes twice, or too late.
#include <catch2/catch.hpp>
#include <string>
#include <utility>
#include <variant>

#include "checks.hpp"
#include "desk.hpp"
#include "objects/creation_bodies.hpp"
#include "objects/peer_bodies.hpp"

using namespace spotmesh;
using namespace spotmesh::objects;

namespace {

using flatbuffers::FlatBufferBuilder;

// A node that is asked to create Actor "anna", in one operation.
struct Asked : Desk {
  FlatBufferBuilder create(Duration left, Instant sent_at) {
    const CreateSpec spec{.id = "anna",
                          .type = *StableType::parse("pawn"),
                          .mesh = one->core().application.find_mesh("play"),
                          .deadline = sent_at + left};
    FlatBufferBuilder builder;
    write_create(builder, OperationId{5, 6}, spec, sent_at);
    return builder;
  }
  // What was sent as the answer to that call; nothing else may have been but that it was admitted.
  std::optional<CreateEnd> answer_to(std::uint64_t call) {
    std::optional<CreateEnd> answer;
    for (const auto& sent : peers.take()) {
      if (sent.message.kind == PeerKind::Admitted) continue;
      REQUIRE(sent.message.kind == PeerKind::CreateAnswer);
      REQUIRE(sent.message.call == call);
      REQUIRE_FALSE(answer.has_value());
      answer = *read_create_answer(sent.message, one->core().application);
    }
    return answer;
  }
  std::optional<CreateEnd> ask(std::uint64_t call, Duration left = 5s) {
    receive(PeerKind::Create, call, create(left, now()));
    one.run_for(100ms);
    return answer_to(call);
  }
  std::size_t runs() { return one.journal().count("on_create_actor anna"); }
};

}  // namespace

TEST_CASE("a creation that comes again while it is under way runs once, and the last call is told",
          "[DURABLE-03]") {
  Asked asked;
  Latch latch;
  asked.one.hooks.on_create_actor = [&](Actor&, const Message&) -> Task<CreateDecision> {
    co_await latch.wait();
    co_return CreateDecision::accept(probe::Note{.text = "welcome"});
  };
  CHECK_FALSE(asked.ask(1).has_value());
  CHECK_FALSE(asked.ask(2).has_value());
  latch.open();
  asked.one.run_for(100ms);
  const auto answer = asked.answer_to(2);
  REQUIRE(answer.has_value());
  REQUIRE(answer->result.has_value());
  CHECK(answer->result->kind == CreateReply::Kind::Created);
  CHECK(answer->result->reply.decode<probe::Note>()->text == "welcome");
  CHECK(asked.runs() == 1);
}

TEST_CASE("a creation that comes again after its end gets the first answer, for five minutes",
          "[DURABLE-03]") {
  Asked asked;
  asked.one.hooks.on_create_actor = [&](Actor&, const Message&) -> Task<CreateDecision> {
    co_return CreateDecision::accept(probe::Note{.text = std::to_string(asked.runs())});
  };
  const auto created = asked.ask(1, 5s);
  REQUIRE(created.has_value());
  REQUIRE(created->result.has_value());
  // Whatever has become of what it made.
  REQUIRE(asked.one->destroy(*asked.one->find("anna")).value());
  asked.one.run_for(4min);
  const auto again = asked.ask(2);
  REQUIRE(again.has_value());
  REQUIRE(again->result.has_value());
  CHECK(again->result->kind == CreateReply::Kind::Created);
  CHECK(again->result->generation == created->result->generation);
  CHECK(again->result->reply.decode<probe::Note>()->text == "1");
  CHECK(asked.runs() == 1);
  CHECK_FALSE(asked.one->find("anna").has_value());
  asked.one.run_for(1min + 5s);
  const auto anew = asked.ask(3);
  REQUIRE(anew.has_value());
  REQUIRE(anew->result.has_value());
  CHECK(anew->result->generation > created->result->generation);
  CHECK(asked.runs() == 2);
}

TEST_CASE("what a message waited on its way is taken off the time of what it asks for") {
  Asked asked;
  const ActorRef berta = asked.one->born("berta", "pawn");
  const auto destroy = [&](std::uint64_t call, Instant sent_at) {
    FlatBufferBuilder builder;
    const auto id = builder.CreateString("berta");
    builder.Finish(body::CreateEnd(builder, id, berta.object_generation.value,
                                   remaining_time(sent_at + 5s, sent_at),
                                   sent_at.since_origin.count()));
    asked.receive(PeerKind::Destroy, call, builder);
    const auto sent = asked.peers.take();
    REQUIRE(sent.size() == 1);
    return sent[0].message;
  };
  // How long the way is at best: of something that does nothing.
  asked.receive(PeerKind::Create, 1, asked.create(0s, asked.now()));
  asked.peers.take();
  CHECK(asked.runs() == 0);

  const Instant long_ago = asked.now() - 5s;
  CHECK(read_failure(destroy(2, long_ago)).kind() == ErrorKind::DeadlineExceeded);
  CHECK(asked.one->find("berta") == berta);

  asked.receive(PeerKind::Create, 3, asked.create(5s, long_ago));
  const auto late = asked.answer_to(3);
  REQUIRE(late.has_value());
  CHECK(late->is_turned_away);
  check_error(late->result, ErrorKind::DeadlineExceeded, "anna");
  CHECK(asked.runs() == 0);

  Latch latch;
  asked.one.hooks.on_create_actor = [&](Actor&, const Message&) -> Task<CreateDecision> {
    co_await latch.wait();
    co_return CreateDecision::accept();
  };
  // Half of its time is over.
  asked.receive(PeerKind::Create, 4, asked.create(5s, asked.now() - 3s));
  asked.one.run_for(2s + 100ms);
  const auto slow = asked.answer_to(4);
  REQUIRE(slow.has_value());
  check_error(slow->result, ErrorKind::DeadlineExceeded, "anna");
  CHECK(asked.runs() == 1);
}
