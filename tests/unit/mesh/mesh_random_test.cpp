// Whole nodes at random: every fault of the network, every lane, many seeds.
#include <array>
#include <catch2/catch.hpp>
#include <charconv>
#include <map>
#include <set>

#include "base/random.hpp"
#include "sim_mesh.hpp"

using namespace spotmesh;
using namespace spotmesh::mesh;
using namespace spotmesh::mesh::testing;
using namespace std::chrono_literals;

namespace {

constexpr std::array<const char*, 3> names = {"a", "b", "c"};

// One run: nodes talk, the network is bad, processes die and are replaced, runs are fenced. Then
// the faults stop, and everything settles.
class Storm {
 public:
  explicit Storm(std::uint64_t seed) : mesh_(seed), random_(mesh_.world.random("storm")) {
    for (const char* name : names) present_[name] = &mesh_.start(name);
  }

  void break_at(std::string_view point) { defects_.emplace_back(point); }

  std::set<std::string> violations() {
    for (auto& [name, run] : present_) prepare(*run);
    for (int round = 0; round < 200; ++round) {
      act();
      mesh_.world.run_for(random_.between(0ms, 300ms));
      if (round % 20 == 0) check_order();
    }
    settle();
    check_order();
    check_complete();
    return found_;
  }

 private:
  using Way = std::pair<Peer, Peer>;

  void prepare(SimRun& run) {
    runs_.push_back(&run);
    for (const std::string& point : defects_) run.node.faults().set_chance(point, 1000);
  }

  SimRun& any() { return *present_.at(names[random_below(random_, names.size())]); }

  void act() {
    SimRun& one = any();
    SimRun& other = any();
    if (&one == &other) return;
    switch (random_below(random_, 16)) {
      case 0:
        return mesh_.network.cut(one.node, other.node);
      case 1:
        return mesh_.network.block(one.node, other.node);
      case 2:
        return mesh_.network.heal(one.node, other.node);
      case 3:
        one.node.pause();
        return mesh_.world.after(random_.between(0s, 8s), [&one] { one.node.resume(); });
      case 4:
        return mesh_.network.set_delay(one.node, other.node, 0ms, random_.between(1ms, 500ms));
      case 5:
        if (random_below(random_, 4) == 0) restart(one);
        return;
      case 6:
        if (random_below(random_, 4) == 0) fence(one, other);
        return;
      default:
        return say(one, other);
    }
  }

  void say(SimRun& from, SimRun& to) {
    const auto lane = Lane(random_below(random_, lane_count));
    const auto count = 1 + random_below(random_, 20);
    for (std::uint64_t i = 0; i < count; ++i) {
      std::string text = fmt::format("{}:", ++numbers_[{from.self, to.self}][lane]);
      if (random_below(random_, 10) == 0) {
        text.resize(text.size() + random_below(random_, 200'000), '.');
      }
      const auto sent = from.mesh.send(to.self, lane, SharedBytes::copy_of(as_bytes(text)));
      if (sent) continue;
      --numbers_[{from.self, to.self}][lane];
      return;
    }
  }

  void restart(SimRun& run) {
    const std::string name(1, run.self.node.text[0]);
    mesh_.crash(run);
    present_[name] = &mesh_.start(name);
    prepare(*present_[name]);
  }

  // `by` reads that `fenced` was fenced; in time `fenced` stops and comes again.
  void fence(SimRun& by, SimRun& fenced) {
    by.mesh.end(fenced.self, Error::unavailable("fenced"));
    taken_at_fence_[{fenced.self, by.self}] = by.recorder.count_from(fenced.self);
  }

  void settle() {
    for (SimRun* one : runs_) {
      if (one->transport == nullptr) continue;
      one->node.resume();
      for (SimRun* other : runs_) mesh_.network.heal(one->node, other->node);
    }
    for (auto& [name, one] : present_) {
      for (auto& [other_name, other] : present_) {
        mesh_.network.set_delay(one->node, other->node, 0ms, 5ms);
      }
    }
    // The longest pause between dials, twice, and a heartbeat.
    mesh_.world.run_for(30s);
  }

  // Each lane: 1, 2, 3 …; and nothing behind a fence.
  void check_order() {
    for (const SimRun* run : runs_) {
      std::map<std::pair<Peer, Lane>, std::uint64_t> last;
      for (const auto& taken : run->recorder.taken) {
        std::uint64_t number = 0;
        std::from_chars(taken.text.data(), taken.text.data() + taken.text.size(), number);
        if (number != ++last[{taken.from, taken.lane}]) {
          found_.insert(fmt::format("{} took {} of {} where {} was due", run->self.node.text,
                                    number, taken.from.node.text, last[{taken.from, taken.lane}]));
          return;
        }
      }
    }
    for (const auto& [way, count] : taken_at_fence_) {
      for (const SimRun* run : runs_) {
        if (run->self == way.second && run->recorder.count_from(way.first) != count) {
          found_.insert(fmt::format("{} took something of {}, which was fenced",
                                    run->self.node.text, way.first.node.text));
        }
      }
    }
  }

  // Between runs that live, and have not ended each other, everything arrives.
  void check_complete() {
    for (const auto& [way, lanes] : numbers_) {
      const SimRun& from = run_of(way.first);
      const SimRun& to = run_of(way.second);
      if (from.transport == nullptr || to.transport == nullptr) continue;
      const bool is_over = from.recorder.has_ended(to.self) || to.recorder.has_ended(from.self) ||
                           taken_at_fence_.contains({from.self, to.self}) ||
                           taken_at_fence_.contains({to.self, from.self});
      if (is_over) continue;
      for (const auto& [lane, count] : lanes) {
        const auto taken = to.recorder.texts(from.self, lane).size();
        if (taken != count) {
          found_.insert(fmt::format("{} took {} of {} messages of {}", to.self.node.text, taken,
                                    count, from.self.node.text));
        }
      }
    }
  }

  SimRun& run_of(const Peer& peer) {
    for (SimRun* run : runs_) {
      if (run->self == peer) return *run;
    }
    throw std::logic_error("there is no such run");
  }

  SimMesh mesh_;
  spotmesh::testing::SimRandom& random_;
  std::map<std::string, SimRun*> present_;
  std::vector<SimRun*> runs_;
  std::vector<std::string> defects_;
  std::map<Way, std::map<Lane, std::uint64_t>> numbers_;
  std::map<Way, std::size_t> taken_at_fence_;
  std::set<std::string> found_;
};

std::size_t seeds_that_find(std::initializer_list<std::string_view> defects, std::uint64_t seeds) {
  std::size_t found = 0;
  for (std::uint64_t seed = 1; seed <= seeds && found == 0; ++seed) {
    Storm storm(seed);
    for (const auto defect : defects) storm.break_at(defect);
    found += storm.violations().empty() ? 0 : 1;
  }
  return found;
}

}  // namespace

TEST_CASE("under cuts, partitions, pauses, crashes and fences no lane loses, doubles or reorders",
          "[MESH-01][MESH-02][RACE-12]") {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    INFO("seed " << seed);
    for (const auto& violation : Storm(seed).violations()) FAIL_CHECK(violation);
  }
}

TEST_CASE("a mesh that takes frames twice, or of a run that is over, is found out") {
  CHECK(seeds_that_find({"mesh.take-duplicate", "mesh.ignore-positions"}, 60) > 0);
  CHECK(seeds_that_find({"mesh.take-ended-run"}, 60) > 0);
}
