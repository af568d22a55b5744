// JoinMachine by its table (framework/docs/join.md).
#include "objects/join_machine.hpp"

#include <catch2/catch.hpp>
#include <functional>
#include <string>
#include <vector>

#include <spotmesh/limits.hpp>

#include "checks.hpp"
#include "probe.packets.hpp"

using namespace spotmesh;
using namespace spotmesh::objects;
using State = JoinMachine::State;

namespace {

const Instant start{std::chrono::seconds(100)};
const Instant deadline = start + std::chrono::seconds(5);

// The action's name, and of a Deliver its end.
struct Name {
  std::string operator()(const location::ArmTimer&) const { return "ArmTimer"; }
  std::string operator()(const location::CancelTimer&) const { return "CancelTimer"; }
  std::string operator()(const join::Resolve&) const { return "Resolve"; }
  std::string operator()(const join::Reserve&) const { return "Reserve"; }
  std::string operator()(const join::RunAdmission&) const { return "RunAdmission"; }
  std::string operator()(const join::ClaimActor&) const { return "ClaimActor"; }
  std::string operator()(const join::WithdrawClaim&) const { return "WithdrawClaim"; }
  std::string operator()(const join::CommitMembership&) const { return "CommitMembership"; }
  std::string operator()(const join::DetachFromFormer&) const { return "DetachFromFormer"; }
  std::string operator()(const join::SwitchMembership&) const { return "SwitchMembership"; }
  std::string operator()(const join::RunJoined&) const { return "RunJoined"; }
  std::string operator()(const join::RunLeave&) const { return "RunLeave"; }
  std::string operator()(const join::ReleaseClaim&) const { return "ReleaseClaim"; }
  std::string operator()(const join::Unreserve&) const { return "Unreserve"; }
  std::string operator()(const join::OpenBarrier&) const { return "OpenBarrier"; }
  std::string operator()(const join::Done&) const { return "Done"; }
  std::string operator()(const join::Deliver& deliver) const {
    switch (deliver.end.kind) {
      case JoinEnd::Kind::Accepted:
        return "Deliver accepted";
      case JoinEnd::Kind::Rejected:
        return "Deliver rejected";
      case JoinEnd::Kind::Failed:
        break;
    }
    return "Deliver " + std::string(to_string(deliver.end.error.kind()));
  }
};

using Names = std::vector<std::string>;

class Driven {
 public:
  Names feed(const join::Event& event, Instant now = start) {
    Names names;
    for (const auto& action : machine.on_event(event, now)) {
      names.push_back(std::visit(Name{}, action));
    }
    return names;
  }
  // Through the events that lead to the state on the way of an accepted Join.
  void bring_to(State state) {
    const std::vector<join::Event> way = {join::Start{},     join::Found{},     join::Admitted{},
                                          join::Claimed{},   join::Committed{}, join::Detached{},
                                          join::JoinedRan{}, join::LeaveRan{},  join::Delivered{}};
    for (const auto& event : way) {
      if (machine.state() == state) return;
      feed(event);
    }
    REQUIRE(machine.state() == state);
  }

  JoinMachine machine{"Join of Actor 'a' to Spot 's'", deadline};
};

const Error refused = Error::not_found("gone");

}  // namespace

TEST_CASE("an accepted Join does everything once and in order") {
  Driven join;
  CHECK(join.feed(join::Start{}) == Names{"ArmTimer", "Resolve"});
  CHECK(join.feed(join::Found{}) == Names{"Reserve", "RunAdmission"});
  CHECK(join.feed(join::Admitted{}) == Names{"ClaimActor"});
  CHECK(join.feed(join::Claimed{}) == Names{"CommitMembership"});
  CHECK(join.feed(join::Committed{}) == Names{"CancelTimer", "DetachFromFormer"});
  CHECK(join.feed(join::Detached{}) == Names{"SwitchMembership", "RunJoined"});
  CHECK(join.feed(join::JoinedRan{}) == Names{"RunLeave"});
  CHECK(join.feed(join::LeaveRan{}) == Names{"ReleaseClaim", "Unreserve", "Deliver accepted"});
  CHECK(join.feed(join::Delivered{}) == Names{"OpenBarrier", "Done"});
  CHECK(join.machine.state() == State::Done);
}

TEST_CASE("a Join to where the Actor is ends without reservation, claim or commit") {
  Driven join;
  join.bring_to(State::Resolving);
  CHECK(join.feed(join::AlreadyThere{}) == Names{"CancelTimer", "Deliver accepted"});
}

TEST_CASE("whatever ends a Join before its commit gives back exactly what it holds") {
  struct Case {
    State state;
    join::Event event;
    Instant now;
    Names actions;
  };
  const auto late = deadline;
  const join::Event stop = join::Stop{Error::shutting_down("stops")};
  const std::vector<Case> cases = {
      {State::Resolving, join::NotUsable{refused}, start, {"CancelTimer", "Deliver NotFound"}},
      {State::Resolving, location::TimerFired{}, late, {"CancelTimer", "Deliver DeadlineExceeded"}},
      {State::Resolving, stop, start, {"CancelTimer", "Deliver ShuttingDown"}},
      {State::Admitting, join::Refused{}, start, {"CancelTimer", "Unreserve", "Deliver rejected"}},
      {State::Admitting,
       join::AdmissionFailed{refused},
       start,
       {"CancelTimer", "Unreserve", "Deliver NotFound"}},
      {State::Admitting,
       location::TimerFired{},
       late,
       {"CancelTimer", "Unreserve", "Deliver DeadlineExceeded"}},
      {State::Admitting, stop, start, {"CancelTimer", "Unreserve", "Deliver ShuttingDown"}},
      {State::Claiming,
       location::TimerFired{},
       late,
       {"CancelTimer", "WithdrawClaim", "Unreserve", "Deliver DeadlineExceeded"}},
      {State::Claiming,
       stop,
       start,
       {"CancelTimer", "WithdrawClaim", "Unreserve", "Deliver ShuttingDown"}},
      {State::Committing,
       join::CommitFailed{refused},
       start,
       {"CancelTimer", "ReleaseClaim", "Unreserve", "Deliver NotFound"}},
  };
  for (const Case& each : cases) {
    Driven join;
    join.bring_to(each.state);
    CHECK(join.feed(each.event, each.now) == each.actions);
    CHECK(join.machine.state() == State::Delivering);
  }
}

TEST_CASE("from the commit on neither the clock nor a stop ends a Join") {
  for (const State state : {State::Committing, State::Detaching, State::Joining, State::Leaving,
                            State::Delivering, State::Done}) {
    Driven join;
    join.bring_to(state);
    CHECK(join.feed(location::TimerFired{}, deadline).empty());
    CHECK(join.feed(join::Stop{Error::shutting_down("stops")}).empty());
    CHECK(join.machine.state() == state);
  }
}

TEST_CASE("answers that come too late or twice are ignored") {
  const std::vector<join::Event> answers = {
      join::AlreadyThere{}, join::Found{},     join::NotUsable{refused},
      join::Admitted{},     join::Refused{},   join::AdmissionFailed{refused},
      join::Claimed{},      join::Committed{}, join::CommitFailed{refused},
      join::Detached{},     join::JoinedRan{}, join::LeaveRan{}};
  for (const auto& answer : answers) {
    Driven delivering;
    delivering.bring_to(State::Resolving);
    delivering.feed(location::TimerFired{}, deadline);
    CHECK(delivering.feed(answer).empty());
    Driven done;
    done.bring_to(State::Done);
    CHECK(done.feed(answer).empty());
  }
}

TEST_CASE("a timer that fires early is armed anew, and a Join may start too late") {
  Driven early;
  early.bring_to(State::Admitting);
  CHECK(early.feed(location::TimerFired{}, deadline - Duration(1)) == Names{"ArmTimer"});
  Driven late;
  CHECK(late.feed(join::Start{}, deadline) == Names{"CancelTimer", "Deliver DeadlineExceeded"});
}

TEST_CASE("a reply of on_actor_join has its bound") {
  const auto reply_of = [](std::size_t bytes) {
    return Message(PacketTraits<probe::Blob>::descriptor(), SharedBytes(Bytes(bytes)));
  };
  Driven fits;
  fits.bring_to(State::Admitting);
  CHECK(fits.feed(join::Admitted{reply_of(limits::join_reply_bytes)}) == Names{"ClaimActor"});
  Driven large;
  large.bring_to(State::Admitting);
  CHECK(large.feed(join::Admitted{reply_of(limits::join_reply_bytes + 1)}) ==
        Names{"CancelTimer", "Unreserve", "Deliver InternalFailure"});
}
