// Simulated time for tests of single parts: jobs in a queue that the test works off.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <utility>

#include "base/random.hpp"
#include "testing/sim_time.hpp"

namespace spotmesh::testing {

class ManualTime : public SimTime {
 public:
  Instant now() const override { return now_; }
  void at(Instant when, std::function<void()> job) override {
    jobs_.emplace(when < now_ ? now_ : when, std::move(job));
  }

  // Runs the next job, at its moment; false when there is none.
  bool run_next() {
    if (jobs_.empty()) return false;
    auto next = jobs_.extract(jobs_.begin());
    now_ = next.key();
    next.mapped()();
    return true;
  }
  // Runs what lies within this time, and lets all of it pass.
  void run_for(Duration time) {
    const Instant end = now_ + time;
    while (!jobs_.empty() && jobs_.begin()->first <= end) run_next();
    now_ = end;
  }
  void run_all() {
    while (run_next()) {
    }
  }

 private:
  Instant now_{};
  std::multimap<Instant, std::function<void()>> jobs_;
};

// Splitmix64: the same numbers for the same seed, everywhere.
class TestRandom : public Random {
 public:
  explicit TestRandom(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next_u64() override {
    std::uint64_t x = state_ += 0x9e3779b97f4a7c15ULL;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
    return x ^ (x >> 31);
  }

 private:
  std::uint64_t state_;
};

}  // namespace spotmesh::testing
