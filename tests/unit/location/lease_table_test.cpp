// The transition table of framework/docs/lease.md, row by row: events in, actions out.
#include <catch2/catch.hpp>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "lease_script.hpp"
#include "location/lease.hpp"
#include "sample_records.hpp"

using namespace spotmesh;
using namespace spotmesh::location;
using namespace spotmesh::testing;
using namespace std::chrono_literals;
using Catch::Matchers::Contains;
using Outcome = spotmesh::location::CommitResult::Outcome;
using State = spotmesh::location::LeaseMachine::State;

namespace {

using Script = LeaseScript;

template <typename Record>
Record written(const CommitKeys& commit, std::size_t index,
               Result<Record> (*decode)(std::string_view, ByteView)) {
  const Write& write = commit.commit.writes.at(index);
  REQUIRE(write.value);
  auto record = decode(write.key, *write.value);
  REQUIRE(record);
  return *record;
}

bool is_epoch_step(std::uint64_t step) {
  return step >= lease_generation_epoch_step &&
         step < lease_generation_epoch_step + lease_generation_epoch_spread;
}

}  // namespace

TEST_CASE("a first lease is read, then written with beat and counter in one commit", "[STORE-05]") {
  Script script;
  CHECK(script.start() == "read");
  CHECK(script.machine().state() == State::Acquiring);
  CHECK(script.answer_read({}, {}) == "commit");
  const Commit& commit = script.commit().commit;
  CHECK(commit.epoch == first_epoch);
  REQUIRE(commit.conditions.size() == 2);
  CHECK_FALSE(commit.conditions[0].version.has_value());
  CHECK_FALSE(commit.conditions[1].version.has_value());
  const auto counter = written(script.commit(), 2, decode_lease_counter);
  CHECK(counter.last.value >= 1);
  CHECK(counter.last.value <= lease_generation_epoch_spread);
  CHECK(counter == LeaseCounterRecord{counter.last, first_epoch, true});
  const LeaseRecord own = script.own(LeaseState::Live, counter.last.value);
  CHECK(written(script.commit(), 0, decode_lease) == own);
  CHECK(written(script.commit(), 1, decode_beat).beat == 1);
  script.pass(2s);
  CHECK_FALSE(script.view().is_held);
  CHECK(script.answer_commit(Outcome::Ok) == "acquired, arm 3.0");
  CHECK(script.machine().state() == State::Held);
  CHECK(script.view().stamp == own.stamp);
  // Counted from when the commit was sent, not from its answer.
  CHECK(script.view().admission_deadline == script.now() + 8s);
  CHECK(script.view().may_create(script.now()));
}

TEST_CASE("a lease generation is one more than the counter of the same epoch", "[ID-08]") {
  Script script;
  script.start();
  script.answer_read({}, LeaseCounterRecord{{41}, first_epoch, true});
  CHECK(written(script.commit(), 0, decode_lease).stamp.lease_generation.value == 42);
  script.answer_commit(Outcome::Ok);
  CHECK(script.view().stamp->lease_generation.value == 42);
  CHECK(script.view().may_create(script.now()));
}

TEST_CASE("a counter of another epoch is passed by 2^20 and more, and the newcomer keeps quiet",
          "[STORE-08]") {
  Script script;
  script.start();
  script.answer_read({}, LeaseCounterRecord{{41}, second_epoch, true});
  const auto counter = written(script.commit(), 2, decode_lease_counter);
  CHECK(is_epoch_step(counter.last.value - 42));
  CHECK(counter.epoch == first_epoch);
  CHECK_FALSE(counter.is_settled);
  script.answer_commit(Outcome::Ok);
  CHECK(script.view().admits(script.now()));
  CHECK_FALSE(script.view().may_create(script.now()));
  CHECK(script.view().quiet_until == script.now() + 20s);
}

TEST_CASE(
    "a newcomer to an epoch that is not settled keeps quiet on its own clock, then settles it",
    "[STORE-08]") {
  Script script;
  script.start();
  script.answer_read({}, LeaseCounterRecord{{41}, first_epoch, false});
  script.answer_commit(Outcome::Ok);
  const Instant quiet_until = script.view().quiet_until;
  CHECK(quiet_until == script.now() + 20s);
  std::string words;
  while (script.now() < quiet_until) {
    CHECK_FALSE(script.view().may_create(script.now()));
    script.pass(script.armed() - script.now());
    words = script.fire();
    if (words.find("commit") != std::string::npos)
      words += ", " + script.answer_commit(Outcome::Ok);
  }
  CHECK_THAT(words, Contains("quiet time over"));
  CHECK(script.view().may_create(script.now()));
  // The next renewal tells everybody.
  while (words.find("read") == std::string::npos) {
    script.pass(script.armed() - script.now());
    words = script.fire();
    if (words.find("commit") != std::string::npos)
      words += ", " + script.answer_commit(Outcome::Ok);
  }
  CHECK_THAT(script.answer_read(script.own(LeaseState::Live, 42),
                                LeaseCounterRecord{{50}, first_epoch, false}),
             Contains("commit"));
  CHECK(written(script.commit(), 0, decode_lease_counter) ==
        LeaseCounterRecord{{50}, first_epoch, true});
}

TEST_CASE("an exhausted lease counter fails the start and writes nothing", "[ID-05]") {
  Script script;
  script.start();
  CHECK_THAT(script.answer_read({}, LeaseCounterRecord{{max_lease_generation}, first_epoch, true}),
             Contains("failed: InternalFailure") && Contains("generation exhausted") &&
                 !Contains("commit"));
  CHECK(script.machine().state() == State::Ended);
}

TEST_CASE("a store that is away is waited for, and a damaged counter is not", "[STORE-09]") {
  Script script;
  script.start();
  for (int i = 0; i < 30; ++i) {
    CHECK_THAT(script.answer_read_failed(), Contains("arm"));
    const auto pause = script.armed() - script.now();
    CHECK(pause >= 50ms);
    CHECK(pause <= 1s);
    script.pass(pause);
    CHECK(script.fire() == "read");
  }
  ReadResult garbage{first_epoch,
                     {std::nullopt, StoredValue{to_bytes("garbage"), {first_epoch, 1}}}};
  CHECK_THAT(script.answer_read({}, {}), Contains("commit"));
  Script other;
  other.start();
  CHECK_THAT(other.feed(ReadDone{1, garbage}),
             Contains("failed: DataLost") && Contains("lease-counter"));
}

TEST_CASE("a store that has forgotten everything does not give out the same generations again",
          "[STORE-08]") {
  std::set<std::uint64_t> first;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Script script(seed);
    script.start();
    script.answer_read({}, {});
    first.insert(written(script.commit(), 2, decode_lease_counter).last.value);
  }
  CHECK(first.size() == 20);
}

TEST_CASE("an unknown acquisition is looked up before anything else", "[STORE-05]") {
  Script script;
  script.start();
  script.answer_read({}, {});
  const Instant sent = script.now();
  script.pass(1s);
  CHECK(script.answer_commit(Outcome::Unknown) == "read");
  CHECK_FALSE(script.view().is_held);
  SECTION("it was applied") {
    CHECK_THAT(script.answer_read(script.own(), LeaseCounterRecord{{1}, first_epoch, true}),
               Contains("acquired"));
    CHECK(script.view().admission_deadline == sent + 10s);
    CHECK(script.view().stamp->lease_generation.value == 1);
  }
  SECTION("it was, and the store has failed over since") {
    // What the counter says of the epoch is of the one before: the lease is acquired anew.
    CHECK(script.answer_read(script.own(), LeaseCounterRecord{{1}, first_epoch, true},
                             second_epoch) == "commit");
    CHECK_FALSE(script.view().is_held);
    CHECK(script.commit().commit.epoch == second_epoch);
    CHECK(script.commit().commit.conditions[0].version == StoreVersion{second_epoch, 3});
    const auto counter = written(script.commit(), 2, decode_lease_counter);
    CHECK(is_epoch_step(counter.last.value - 2));
    CHECK_FALSE(counter.is_settled);
    script.answer_commit(Outcome::Ok, {}, second_epoch);
    CHECK(script.view().stamp->lease_generation == counter.last);
    CHECK(script.view().quiet_until == script.now() + 20s);
    CHECK_FALSE(script.view().may_create(script.now()));
  }
  SECTION("it was not") {
    CHECK(script.answer_read({}, {}) == "commit");
    CHECK(script.answer_commit(Outcome::Ok) == "acquired, arm 5.0");
  }
  SECTION("it was, and was fenced before anybody knew") {
    CHECK_THAT(script.answer_read(script.own(LeaseState::Fenced), {}),
               Contains("failed: Unavailable"));
  }
}

TEST_CASE("a store that takes no such lease fails the start, and is not asked again") {
  Script script;
  script.start();
  script.answer_read({}, {});
  CHECK_THAT(script.answer_commit(Outcome::Malformed), Contains("failed: InternalFailure"));
  CHECK(script.machine().state() == State::Ended);
}

TEST_CASE("an owner id in use is refused, one whose lease is fenced is taken over", "[ID-08]") {
  Script script;
  script.start();
  LeaseRecord other{stamp_of("node-a", 3), LeaseState::Live};
  SECTION("in use") {
    CHECK_THAT(script.answer_read(other, LeaseCounterRecord{{3}, first_epoch, true}),
               Contains("failed: Unavailable") && Contains("in use"));
  }
  SECTION("fenced") {
    other.state = LeaseState::Fenced;
    CHECK(script.answer_read(other, LeaseCounterRecord{{3}, first_epoch, true}) == "commit");
    CHECK(script.commit().commit.conditions[0].version.has_value());
    script.answer_commit(Outcome::Ok);
    CHECK(script.view().stamp->lease_generation.value == 4);
  }
}

TEST_CASE("a renewal is conditional on the lease alone and extends from when it was sent",
          "[STORE-05][STORE-06]") {
  Script script;
  script.acquire();
  const Instant acquired = script.now();
  script.pass(5s);
  CHECK(script.fire() == "commit, arm 3.0");
  const Commit& commit = script.commit().commit;
  REQUIRE(commit.conditions.size() == 1);
  CHECK(commit.conditions[0].key == keys::lease(id_of<OwnerId>("node-a")));
  CHECK(commit.conditions[0].version == script.view().lease_version);
  REQUIRE(commit.writes.size() == 1);
  CHECK(commit.writes[0].key == keys::beat(id_of<OwnerId>("node-a")));
  CHECK(commit.epoch == first_epoch);
  script.pass(2s);
  CHECK(script.view().admission_deadline == acquired + 10s);
  CHECK(script.answer_commit(Outcome::Ok) == "extended, arm 3.0");
  CHECK(script.view().admission_deadline == acquired + 15s);
}

TEST_CASE("past its admission deadline a node admits nothing until a renewal succeeds",
          "[STORE-05][STORE-09][LOSS-06]") {
  Script script;
  script.acquire();
  const Instant acquired = script.now();
  script.pass(5s);
  script.fire();
  // One failed renewal, the lease still valid: nothing is lost.
  script.answer_commit(Outcome::Unavailable);
  CHECK(script.view().admits(script.now()));
  while (script.now() < acquired + 60s) {
    script.pass(script.armed() - script.now());
    REQUIRE_THAT(script.fire(), Contains("commit"));
    REQUIRE_THAT(script.answer_commit(Outcome::Unavailable), !Contains("extended"));
    CHECK(script.view().admits(script.now()) == (script.now() < acquired + 10s));
  }
  CHECK(script.machine().state() == State::Held);
  script.pass(script.armed() - script.now());
  script.fire();
  CHECK_THAT(script.answer_commit(Outcome::Ok), Contains("extended"));
  CHECK(script.view().admits(script.now()));
  CHECK(script.view().may_create(script.now()));
}

TEST_CASE("an unknown renewal extends nothing, one that is answered late does", "[STORE-05]") {
  Script script;
  script.acquire();
  const Instant acquired = script.now();
  script.pass(5s);
  script.fire();
  const CommitKeys slow = script.commit();
  script.pass(3s);
  CHECK(script.fire() == "commit, arm 3.0");
  CHECK_THAT(script.answer_commit(Outcome::Unknown), !Contains("extended"));
  CHECK(script.view().admission_deadline == acquired + 10s);
  script.pass(1s);
  CHECK_THAT(script.answer(slow, Outcome::Ok), Contains("extended"));
  CHECK(script.view().admission_deadline == acquired + 15s);
}

TEST_CASE("a renewal that conflicts makes the node look, and only what it sees ends the lease",
          "[STORE-06][LOSS-06]") {
  Script script;
  script.acquire();
  script.pass(5s);
  script.fire();
  const std::string lease_key = keys::lease(id_of<OwnerId>("node-a"));
  CHECK_THAT(script.answer_commit(Outcome::Conflict, lease_key), Contains("read"));
  CHECK(script.view().is_held);
  const LeaseCounterRecord counter{{9}, first_epoch, true};
  SECTION("fenced") {
    CHECK_THAT(script.answer_read(script.own(LeaseState::Fenced), counter), Contains("fenced:"));
  }
  SECTION("gone") { CHECK_THAT(script.answer_read({}, counter), Contains("fenced:")); }
  SECTION("another's") {
    CHECK_THAT(script.answer_read(LeaseRecord{stamp_of("node-a", 9), LeaseState::Live}, counter),
               Contains("fenced:"));
  }
  SECTION("as it was") {
    CHECK_THAT(script.answer_read(script.own(), counter), !Contains("fenced"));
    CHECK(script.machine().state() == State::Held);
    return;
  }
  CHECK(script.machine().state() == State::Ended);
  CHECK_FALSE(script.view().is_held);
  CHECK_FALSE(script.view().admits(script.now()));
  // Final: nothing brings it back.
  CHECK(script.fire().empty());
  CHECK(script.answer_commit(Outcome::Ok).empty());
}

TEST_CASE("doubt and a foreign epoch are looked into, not believed", "[STORE-08]") {
  Script script;
  script.acquire();
  CHECK_THAT(script.feed(lease::EpochSeen{second_epoch}), Contains("read"));
  // The answer that showed another epoch may have been an old one.
  CHECK_THAT(script.answer_read(script.own(), LeaseCounterRecord{{1}, first_epoch, true}),
             !Contains("epoch changed"));
  CHECK(script.feed(lease::EpochSeen{first_epoch}).find("read") == std::string::npos);
  CHECK_THAT(script.feed(lease::Doubted{}), Contains("read"));
  CHECK(script.machine().state() == State::Held);
}

TEST_CASE("in a new epoch a live owner writes its lease again and keeps quiet", "[STORE-08]") {
  Script script;
  script.acquire();
  const Instant deadline = script.view().admission_deadline;
  script.pass(5s);
  script.fire();
  script.answer_commit(Outcome::Conflict, "", second_epoch);
  const bool forgot_all = GENERATE(true, false);
  const auto words =
      forgot_all ? script.answer_read({}, {}, second_epoch)
                 : script.answer_read(script.own(), LeaseCounterRecord{{1}, first_epoch, true},
                                      second_epoch);
  CHECK(words == "epoch changed, commit");
  CHECK(script.machine().state() == State::Reasserting);
  CHECK_FALSE(script.view().admits(script.now()));
  // Objects of the old epoch go on for as long as they were promised.
  CHECK(script.view().former_admission_deadline == deadline);
  CHECK(script.commit().commit.epoch == second_epoch);
  CHECK(written(script.commit(), 0, decode_lease) == script.own());
  const auto counter = written(script.commit(), 2, decode_lease_counter);
  CHECK(is_epoch_step(counter.last.value - 1));
  CHECK_FALSE(counter.is_settled);

  CHECK_THAT(script.answer_commit(Outcome::Ok, "", second_epoch), Contains("reasserted"));
  CHECK(script.machine().state() == State::Held);
  CHECK(script.view().epoch == second_epoch);
  CHECK(script.view().admits(script.now()));
  CHECK_FALSE(script.view().may_create(script.now()));
  CHECK(script.view().quiet_until == script.now() + 20s);
}

TEST_CASE("an owner whose admission had run out is closed out of the new epoch", "[STORE-08]") {
  Script script;
  script.acquire();
  script.pass(11s);
  script.fire();
  script.answer_commit(Outcome::Conflict, "", second_epoch);
  CHECK_THAT(script.answer_read({}, {}, second_epoch), Contains("fenced:") && Contains("epoch"));
}

TEST_CASE("a re-assertion is tried again as long as admission lasts, whatever its outcome",
          "[STORE-08]") {
  Script script;
  script.acquire();
  script.feed(lease::EpochSeen{second_epoch});
  REQUIRE(script.answer_read({}, {}, second_epoch) == "epoch changed, commit");
  SECTION("unknown or conflict: look, then write again") {
    const auto outcome = GENERATE(Outcome::Unknown, Outcome::Conflict);
    CHECK(script.answer_commit(outcome, "", second_epoch) == "read");
    CHECK(script.answer_read(script.own(), {}, second_epoch) == "commit");
    CHECK_THAT(script.answer_commit(Outcome::Ok, "", second_epoch), Contains("reasserted"));
  }
  SECTION("away: later") {
    CHECK_THAT(script.answer_commit(Outcome::Unavailable), Contains("arm"));
    script.pass(11s);
    CHECK(script.fire() == "read");
    CHECK_THAT(script.answer_read({}, {}, second_epoch), Contains("fenced:"));
  }
  SECTION("a third epoch") {
    script.answer_commit(Outcome::Conflict, "", first_epoch);
    CHECK(script.answer_read({}, {}, first_epoch) == "epoch changed, commit");
    CHECK(script.commit().commit.epoch == first_epoch);
  }
  SECTION("somebody else's lease") {
    script.answer_commit(Outcome::Conflict, "", second_epoch);
    CHECK_THAT(
        script.answer_read(LeaseRecord{stamp_of("node-a", 9), LeaseState::Live}, {}, second_epoch),
        Contains("fenced:"));
  }
}

TEST_CASE("a clean stop gives the lease back and ends whatever the store says", "[STORE-09]") {
  Script script;
  SECTION("before anything") { CHECK(script.feed(lease::Release{}) == "cancel, released"); }
  SECTION("while acquiring") {
    script.start();
    CHECK(script.feed(lease::Release{}) == "cancel, released");
  }
  SECTION("while held") {
    script.acquire();
    CHECK(script.feed(lease::Release{}) == "commit, arm 3.0");
    CHECK_FALSE(script.view().admits(script.now()));
    std::vector<std::string> deleted;
    for (const Write& write : script.commit().commit.writes) {
      CHECK_FALSE(write.value.has_value());
      deleted.push_back(write.key);
    }
    CHECK(deleted == std::vector{keys::lease(id_of<OwnerId>("node-a")),
                                 keys::beat(id_of<OwnerId>("node-a")),
                                 keys::node(NodeRid{"node-a"})});
    CHECK(script.commit().commit.conditions[0].version == script.view().lease_version);
    SECTION("done") { CHECK(script.answer_commit(Outcome::Ok) == "cancel, released"); }
    SECTION("unknown") { CHECK(script.answer_commit(Outcome::Unknown) == "cancel, released"); }
    SECTION("away for ever") {
      CHECK_THAT(script.answer_commit(Outcome::Unavailable), Contains("arm"));
      script.pass(3s);
      CHECK(script.fire() == "cancel, released");
    }
    SECTION("no answer at all") {
      script.pass(3s);
      CHECK(script.fire() == "cancel, released");
    }
  }
  CHECK(script.machine().state() == State::Ended);
}
