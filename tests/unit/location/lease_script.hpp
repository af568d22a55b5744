// A LeaseMachine with a hand on everything around it.
#pragma once

#include <catch2/catch.hpp>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "location/lease.hpp"
#include "sample_records.hpp"
#include "support/manual_time.hpp"

namespace spotmesh::testing {

inline constexpr location::StoreEpoch first_epoch{7, 1};
inline constexpr location::StoreEpoch second_epoch{7, 2};

// The machine with a hand on everything around it: what it asked last can be answered.
class LeaseScript {
 public:
  explicit LeaseScript(std::uint64_t seed = 1)
      : random_(seed),
        machine_({}, id_of<location::OwnerId>("node-a"), {"node-a"}, {5, 6}, random_) {}

  location::LeaseMachine& machine() { return machine_; }
  const location::LeaseView& view() const { return machine_.view(); }
  Instant now() const { return now_; }
  void pass(Duration time) { now_ = now_ + time; }

  // Feeds the event and returns what came of it, as words.
  std::string feed(const location::lease::Event& event) {
    std::string words;
    for (const location::lease::Action& action : machine_.on_event(event, now_)) {
      if (!words.empty()) words += ", ";
      words += std::visit([this](const auto& each) { return word(each); }, action);
    }
    return words;
  }
  std::string start() { return feed(location::lease::Start{}); }
  std::string fire() { return feed(location::TimerFired{}); }

  std::string answer_read(std::optional<location::LeaseRecord> lease,
                          std::optional<location::LeaseCounterRecord> counter,
                          location::StoreEpoch epoch = first_epoch) {
    location::ReadResult result{epoch, {}};
    ++version_;
    result.values.resize(2);
    if (lease) result.values[0] = location::StoredValue{encode(*lease), {epoch, version_}};
    if (counter) result.values[1] = location::StoredValue{encode(*counter), {epoch, version_}};
    return feed(location::ReadDone{read_.ticket, result});
  }
  std::string answer_read_failed() {
    return feed(location::ReadDone{read_.ticket, fail(Error::unavailable("away"))});
  }
  std::string answer_commit(location::CommitResult::Outcome outcome, std::string failed_key = {},
                            location::StoreEpoch epoch = first_epoch) {
    return answer(commit_, outcome, std::move(failed_key), epoch);
  }
  std::string answer(const location::CommitKeys& commit, location::CommitResult::Outcome outcome,
                     std::string failed_key = {}, location::StoreEpoch epoch = first_epoch) {
    location::CommitResult result;
    result.outcome = outcome;
    result.epoch = epoch;
    result.failed_key = std::move(failed_key);
    result.versions.assign(commit.commit.writes.size(), {epoch, ++version_});
    return feed(location::CommitDone{commit.ticket, result});
  }

  // To Held, with the commit sent at `now`.
  void acquire() {
    start();
    answer_read({}, location::LeaseCounterRecord{{0}, first_epoch, true});
    REQUIRE(answer_commit(location::CommitResult::Outcome::Ok) == "acquired, arm 5.0");
  }

  location::LeaseRecord own(location::LeaseState state = location::LeaseState::Live,
                            std::uint64_t generation = 1) const {
    return {{id_of<location::OwnerId>("node-a"), {generation}, {"node-a"}, {5, 6}}, state};
  }
  const location::CommitKeys& commit() const { return commit_; }
  Instant armed() const { return armed_; }

 private:
  std::string word(const location::ReadKeys& read) {
    read_ = read;
    return "read";
  }
  std::string word(const location::CommitKeys& commit) {
    commit_ = commit;
    return "commit";
  }
  std::string word(const location::ArmTimer& timer) {
    armed_ = timer.deadline;
    const auto milliseconds = (timer.deadline - now_) / std::chrono::milliseconds(1);
    return "arm " + std::to_string(milliseconds / 1000) + "." +
           std::to_string(milliseconds % 1000 / 100);
  }
  std::string word(const location::CancelTimer&) { return "cancel"; }
  std::string word(const location::lease::Acquired&) { return "acquired"; }
  std::string word(const location::lease::Extended&) { return "extended"; }
  std::string word(const location::lease::EpochChanged&) { return "epoch changed"; }
  std::string word(const location::lease::Reasserted&) { return "reasserted"; }
  std::string word(const location::lease::QuietTimeOver&) { return "quiet time over"; }
  std::string word(const location::lease::Fenced& fenced) { return "fenced: " + fenced.reason; }
  std::string word(const location::lease::Released&) { return "released"; }
  std::string word(const location::lease::AcquireFailed& failed) {
    return "failed: " + to_string(failed.error);
  }

  TestRandom random_;
  location::LeaseMachine machine_;
  Instant now_{std::chrono::seconds(1000)};
  location::ReadKeys read_;
  location::CommitKeys commit_;
  Instant armed_{};
  std::uint64_t version_ = 0;
};

}  // namespace spotmesh::testing
