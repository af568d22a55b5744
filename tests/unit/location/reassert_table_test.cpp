// The ReassertMachine's table of framework/docs/lease.md, row by row: events in, actions out.
#include <catch2/catch.hpp>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "location/reassert.hpp"
#include "sample_records.hpp"
#include "support/manual_time.hpp"

using namespace spotmesh;
using namespace spotmesh::location;
using namespace spotmesh::testing;
using namespace std::chrono_literals;
using Catch::Matchers::Contains;
using Outcome = spotmesh::location::CommitResult::Outcome;

namespace {

constexpr StoreEpoch epoch{7, 2};

class NothingHere : public LocalObjects {
 public:
  bool has(std::string_view, ObjectGeneration) const override { return false; }
};

// The machine with a hand on everything around it; the former admission ends 5 s from its start.
class Script {
 public:
  explicit Script(const std::vector<std::string>& objects, const std::string& entry = {}) {
    lease_.is_held = true;
    lease_.stamp = stamp_of("a");
    lease_.epoch = epoch;
    lease_.lease_version = {epoch, 1};
    lease_.admission_deadline = now_ + 10s;
    std::vector<HeldObject> held;
    for (const std::string& key : objects) {
      held.push_back({.key = key, .record = record(), .is_unrivalled = key == entry});
    }
    machine_.emplace(std::move(held), now_ + 5s, environment_);
  }

  AuthorityRecord record() const { return authority_of(stamp_of("a")); }
  AuthorityRecord later_record() const {
    AuthorityRecord taken = authority_of(stamp_of("b"));
    taken.takeover_count = 1;
    return taken;
  }
  void store(const std::string& key, Bytes value) { stored_[key] = std::move(value); }
  void pass(Duration time) { now_ = now_ + time; }
  LeaseView& lease() { return lease_; }
  const ReassertMachine& machine() const { return *machine_; }
  const Commit& commit() const { return commit_.commit; }
  const std::string& reason() const { return reason_; }

  std::string feed(const reassert::Event& event) {
    std::string words;
    for (const reassert::Action& action : machine_->on_event(event, now_)) {
      const std::string next = std::visit([this](const auto& each) { return word(each); }, action);
      if (next.empty()) continue;
      words += (words.empty() ? "" : ", ") + next;
    }
    return words;
  }
  std::string start() { return feed(reassert::Start{}); }
  std::string fire() { return feed(TimerFired{}); }
  std::string forget(const std::string& key) { return feed(reassert::Forget{key}); }
  std::string answer_read(StoreEpoch shown = epoch) {
    ReadResult result{shown, {}};
    for (const std::string& key : read_.keys) {
      const auto found = stored_.find(key);
      result.values.push_back(found == stored_.end()
                                  ? std::nullopt
                                  : std::optional(StoredValue{found->second, {epoch, 5}}));
    }
    return feed(ReadDone{read_.ticket, result});
  }
  std::string fail_read() { return feed(ReadDone{read_.ticket, fail(Error::unavailable("away"))}); }
  std::string answer_commit(Outcome outcome, std::string failed_key = {}) {
    CommitResult result;
    result.outcome = outcome;
    result.epoch = epoch;
    result.failed_key = std::move(failed_key);
    result.versions.assign(commit_.commit.writes.size(), {epoch, 9});
    return feed(CommitDone{commit_.ticket, result});
  }

 private:
  std::string word(const ReadKeys& read) {
    read_ = read;
    std::string words = "read";
    for (const std::string& key : read.keys) words += " " + key;
    return words;
  }
  std::string word(const CommitKeys& commit) {
    commit_ = commit;
    std::string words = "commit";
    for (const Write& write : commit.commit.writes) words += " " + write.key;
    return words;
  }
  // Only the pauses of the machine are of interest, which all are shorter than a second.
  std::string word(const ArmTimer& timer) {
    return timer.deadline - now_ < 1s ? "pause" : std::string{};
  }
  std::string word(const CancelTimer&) { return {}; }
  std::string word(const reassert::Asserted& action) { return "asserted " + action.key; }
  std::string word(const reassert::SteppedDown& action) {
    reason_ = to_string(action.reason);
    return "down " + action.key;
  }
  std::string word(const reassert::Leftover& action) {
    CHECK(action.generation == record().object_generation);
    return "left " + action.key;
  }
  std::string word(const reassert::Decided&) { return "decided"; }
  std::string word(const reassert::Finished&) { return "finished"; }

  Instant now_{1000s};
  LeaseView lease_;
  TestRandom random_{1};
  NothingHere local_;
  GenerationMint mint_{LeaseGeneration{1}};
  BeatWatchMachine owners_{{}, lease_, random_};
  AuthorityEnvironment environment_{
      .lease = lease_, .owners = owners_, .local = local_, .mint = mint_, .random = random_};
  std::optional<ReassertMachine> machine_;
  std::map<std::string, Bytes> stored_;
  ReadKeys read_;
  CommitKeys commit_;
  std::string reason_;
};

}  // namespace

TEST_CASE("re-assertion: what the store has is kept, what it has not is written, newer ones win",
          "[STORE-08][RACE-01]") {
  Script script({"kept", "absent", "older", "newer", "damaged"});
  CHECK(script.start() == "read kept absent older newer damaged");
  AuthorityRecord older = script.record();
  older.owner_generation = {0};
  older.owner = stamp_of("c");
  script.store("kept", encode(script.record()));
  script.store("older", encode(older));
  script.store("newer", encode(script.later_record()));
  script.store("damaged", to_bytes("nonsense"));
  CHECK(script.answer_read() == "asserted kept, down newer, down damaged, commit absent older");
  CHECK_THAT(script.reason(), Contains("DataLost"));
  // On condition of the own lease and of what was read.
  REQUIRE(script.commit().conditions.size() == 3);
  CHECK(script.commit().epoch == epoch);
  CHECK(script.commit().conditions[0].version == StoreVersion{epoch, 1});
  CHECK_FALSE(script.commit().conditions[1].version);
  CHECK(script.commit().conditions[2].version == StoreVersion{epoch, 5});
  CHECK(script.answer_commit(Outcome::Ok) == "asserted absent, asserted older, decided, finished");
}

TEST_CASE("re-assertion: a commit that did not come through is looked at again", "[STORE-08]") {
  Script script({"x"});
  script.start();
  REQUIRE(script.answer_read() == "commit x");
  SECTION("conflict on the record") {
    CHECK(script.answer_commit(Outcome::Conflict, "x") == "read x");
    script.store("x", encode(script.later_record()));
    CHECK(script.answer_read() == "down x, decided, finished");
  }
  SECTION("unknown") {
    CHECK(script.answer_commit(Outcome::Unknown) == "read x");
    script.store("x", encode(script.record()));
    CHECK(script.answer_read() == "asserted x, decided, finished");
  }
  SECTION("away") {
    CHECK(script.answer_commit(Outcome::Unavailable) == "pause");
    script.pass(1s);
    CHECK(script.fire() == "read x");
    CHECK(script.fail_read() == "pause");
  }
  SECTION("the epoch is another one") {
    CHECK(script.answer_commit(Outcome::Conflict) == "pause");
    script.lease().epoch = {7, 3};
    script.pass(1s);
    CHECK(script.fire() == "finished");
  }
}

TEST_CASE("re-assertion: a commit under way leaves over what was let go of meanwhile",
          "[STORE-08][RACE-01]") {
  const auto outcome =
      GENERATE(Outcome::Ok, Outcome::Conflict, Outcome::Unknown, Outcome::Unavailable);
  Script script({"x", "y"});
  script.start();
  REQUIRE(script.answer_read() == "commit x y");
  REQUIRE(script.machine().is_writing("x"));
  CHECK(script.forget("x").empty());
  // Until the answer is there, what is read of it says nothing.
  CHECK(script.machine().is_writing("x"));
  const std::string words = script.answer_commit(outcome, "x");
  CHECK(words.starts_with("left x"));
  CHECK(words.find("asserted x") == std::string::npos);
  CHECK((words.find("asserted y") != std::string::npos) == (outcome == Outcome::Ok));
  CHECK_FALSE(script.machine().is_writing("x"));
}

TEST_CASE("re-assertion: what a commit under way leaves over at the end of the former admission",
          "[STORE-08][RACE-01]") {
  Script script({"x"});
  script.start();
  REQUIRE(script.answer_read() == "commit x");
  script.pass(5s);
  CHECK(script.fire() == "down x, decided");
  CHECK(script.machine().is_writing("x"));
  CHECK(script.answer_commit(Outcome::Ok) == "left x, finished");
}

TEST_CASE("re-assertion: nothing is asserted once the former admission is over, timer or not",
          "[STORE-08][RACE-01]") {
  SECTION("at the start") {
    Script script({"x"});
    script.pass(5s);
    CHECK(script.start() == "down x, decided, finished");
  }
  SECTION("when the reading is answered") {
    Script script({"x"});
    script.start();
    script.pass(5s);
    CHECK(script.answer_read() == "down x, decided, finished");
  }
  SECTION("when a commit is answered and the next would follow") {
    Script script({"x"});
    script.start();
    script.answer_read();
    script.pass(5s);
    CHECK(script.answer_commit(Outcome::Conflict, "x") == "down x, decided, left x, finished");
  }
  SECTION("in a pause") {
    Script script({"x"});
    script.start();
    script.fail_read();
    script.pass(5s);
    CHECK(script.fire() == "down x, decided, finished");
  }
}

TEST_CASE("re-assertion: an Entry Spot is also asserted later, once this node admits",
          "[STORE-08]") {
  Script script({"entry", "x"}, "entry");
  script.start();
  script.fail_read();
  script.pass(5s);
  CHECK(script.fire() == "down x, decided, read entry");
  CHECK(script.answer_read() == "commit entry");
  CHECK(script.answer_commit(Outcome::Unavailable) == "pause");
  script.pass(5s);
  CHECK(script.fire() == "pause");
  script.lease().admission_deadline = script.lease().admission_deadline + 60s;
  script.pass(1s);
  CHECK(script.fire() == "read entry");
  script.answer_read();
  CHECK(script.answer_commit(Outcome::Ok) == "asserted entry, finished");
}

TEST_CASE("re-assertion: what is forgotten before it is read or written is not asserted",
          "[STORE-08]") {
  Script script({"x"});
  script.start();
  CHECK(script.forget("x").empty());
  CHECK_FALSE(script.machine().is_writing("x"));
  CHECK(script.answer_read() == "decided, finished");
}

TEST_CASE("re-assertion: many objects go in batches, one operation after the other", "[STORE-08]") {
  std::vector<std::string> keys;
  for (std::size_t i = 0; i < reassert::objects_per_batch + 1; ++i) {
    keys.push_back("k" + std::to_string(i));
  }
  Script script(keys);
  script.start();
  script.answer_read();
  CHECK(script.commit().writes.size() == reassert::objects_per_batch);
  CHECK(script.answer_commit(Outcome::Ok).ends_with("read " + keys.back()));
  CHECK(script.answer_read() == "commit " + keys.back());
}

TEST_CASE("re-assertion: a node that has lost its lease asserts nothing more", "[STORE-06]") {
  Script script({"x"});
  script.start();
  script.fail_read();
  script.lease().is_held = false;
  script.pass(1s);
  CHECK(script.fire() == "finished");
}
