// The transition table of framework/docs/durable.md, row by row: events in, actions out.
#include "objects/durable_machine.hpp"

#include <catch2/catch.hpp>
#include <optional>
#include <string>
#include <variant>

#include "testing/sim_random.hpp"

using namespace spotmesh;
using namespace spotmesh::objects;
using namespace std::chrono_literals;
using Catch::Matchers::Contains;
using State = spotmesh::objects::DurableMachine::State;

namespace {

const Error away = Error::unavailable("the lane is full");

class Script {
 public:
  std::string feed(const durable::Event& event) {
    std::string words;
    for (const durable::Action& action : machine_.on_event(event, now_)) {
      const std::string word = std::visit([this](const auto& each) { return say(each); }, action);
      if (!word.empty()) words += (words.empty() ? "" : ", ") + word;
    }
    return words;
  }
  // Lets time pass until the machine's timer, and fires it.
  std::string fire() {
    REQUIRE(timer_.has_value());
    now_ = *timer_;
    return feed(location::TimerFired{});
  }
  // To the state of an operation that has left for its target.
  void send() {
    CHECK(feed(durable::Start{}) == "route");
    CHECK(feed(durable::RouteFound{}) == "send");
    CHECK(feed(durable::Sent{}).empty());
  }

  State state() const { return machine_.state(); }
  Duration elapsed() const { return now_ - start; }
  std::optional<Duration> timer() const {
    return timer_ ? std::optional(*timer_ - start) : std::nullopt;
  }
  const std::optional<Error>& error() const { return error_; }

 private:
  static constexpr Instant start{100s};

  std::string say(const durable::FindRoute& each) { return each.is_bound ? "bound" : "route"; }
  std::string say(const durable::Send&) { return "send"; }
  std::string say(const durable::Withdraw&) { return "withdraw"; }
  std::string say(const durable::Finished& each) {
    error_ = each.error;
    return each.error ? "failed" : "answered";
  }
  std::string say(const location::ArmTimer& each) {
    timer_ = each.deadline;
    return {};
  }
  std::string say(const location::CancelTimer&) {
    timer_.reset();
    return {};
  }

  testing::SimRandom random_{5, "durable"};
  DurableMachine machine_{"create of Actor \"x\"", start + 5s, random_};
  Instant now_ = start;
  std::optional<Instant> timer_;
  std::optional<Error> error_;
};

}  // namespace

TEST_CASE("an operation is sent once and ends with its answer", "[DURABLE-01]") {
  Script script;
  script.send();
  CHECK(script.timer() == 5s);
  SECTION("announced") { CHECK(script.feed(durable::Admitted{}).empty()); }
  SECTION("at once") {}
  CHECK(script.feed(durable::Answered{}) == "answered");
  CHECK(script.state() == State::Done);
  CHECK_FALSE(script.timer().has_value());
  CHECK(script.feed(durable::Answered{}).empty());
}

TEST_CASE("an operation that cannot be sent is tried until its deadline, at growing pauses",
          "[DURABLE-01][DURABLE-04][DURABLE-05]") {
  Script script;
  CHECK(script.feed(durable::Start{}) == "route");
  int attempts = 0;
  for (std::string said = "route"; said == "route"; ++attempts) {
    if (attempts % 2 == 0) {
      CHECK(script.feed(durable::NoRoute{away}).empty());
    } else {
      CHECK(script.feed(durable::RouteFound{}) == "send");
      CHECK(script.feed(durable::NotSent{away}).empty());
    }
    CHECK(*script.timer() - script.elapsed() <= 1s);
    said = script.fire();
  }
  CHECK(attempts > 8);
  CHECK(attempts < 20);
  CHECK(script.elapsed() == 5s);
  REQUIRE(script.error());
  CHECK(script.error()->kind() == ErrorKind::Unavailable);
  CHECK_THAT(script.error()->message(), Contains("Actor \"x\"") && Contains("the lane is full"));
}

TEST_CASE("what has left for a target goes there again, and nowhere else", "[DURABLE-01]") {
  Script script;
  script.send();
  CHECK(script.feed(durable::Lost{away}).empty());
  CHECK(script.state() == State::Pausing);
  CHECK(script.fire() == "bound");
  SECTION("and is answered") {
    CHECK(script.feed(durable::RouteFound{}) == "send");
    script.feed(durable::Sent{});
    CHECK(script.feed(durable::Answered{}) == "answered");
  }
  SECTION("and the answer to what was sent first still counts") {
    CHECK(script.feed(durable::Answered{}) == "answered");
  }
}

TEST_CASE("a target that holds nothing leaves it free to go elsewhere", "[PLACE-04]") {
  Script script;
  script.send();
  script.feed(durable::Admitted{});
  CHECK(script.feed(durable::TurnedAway{Error::capacity_exceeded("full")}).empty());
  CHECK(script.fire() == "route");
  // That one run is over means nothing any more.
  CHECK(script.feed(durable::RunOver{away}).empty());
  CHECK(script.state() == State::Routing);
}

TEST_CASE("the deadline tells whether the target had begun", "[DURABLE-04]") {
  Script script;
  script.send();
  SECTION("it had") {
    script.feed(durable::Admitted{});
    SECTION("and was then lost") { script.feed(durable::Lost{away}); }
    SECTION("and stands still") {}
    while (script.state() != State::Done) {
      const std::string said = script.fire();
      if (said == "bound") script.feed(durable::NoRoute{away});
      if (script.state() == State::Done) CHECK(said == "withdraw, failed");
    }
    CHECK(script.error()->kind() == ErrorKind::DeadlineExceeded);
  }
  SECTION("it had not, as far as is known") {
    CHECK(script.fire() == "withdraw, failed");
    CHECK(script.error()->kind() == ErrorKind::Unavailable);
  }
  CHECK(script.elapsed() == 5s);
}

TEST_CASE("the end of the target's run is the end of the operation, at once", "[DURABLE-06]") {
  Script script;
  script.send();
  SECTION("while it is awaited") {}
  SECTION("while it is to be sent again") { script.feed(durable::Lost{away}); }
  CHECK(script.feed(durable::RunOver{Error::unavailable("node n is gone")}) == "failed");
  CHECK(script.elapsed() == 0s);
  CHECK(script.error()->kind() == ErrorKind::Unavailable);
  CHECK_THAT(script.error()->message(), Contains("node n is gone"));
}

TEST_CASE("what is no matter of transport ends the operation at once", "[DURABLE-05]") {
  Script script;
  const Error broken = Error::protocol_error("its body is unsound");
  SECTION("after it was sent") {
    script.send();
    CHECK(script.feed(durable::Failed{broken}) == "withdraw, failed");
  }
  SECTION("before") {
    script.feed(durable::Start{});
    CHECK(script.feed(durable::Failed{broken}) == "failed");
  }
  CHECK(script.error()->kind() == ErrorKind::ProtocolError);
}
