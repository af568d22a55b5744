// Actors that come and go by the thousand leave nothing behind.
#include <malloc.h>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <future>
#include <stdexcept>
#include <string>
#include <vector>

#include "../support/live_node.hpp"
#include "objects/core.hpp"
#include "objects/registry.hpp"

using namespace spotmesh;
using namespace std::chrono_literals;

namespace {

class Mayfly : public Actor {
 public:
  using Actor::Actor;
  static void handlers(ActorHandlers<Mayfly>& on) { on.timer("tick", 1h, &Mayfly::tick); }
  void tick() {}
};

class Pond : public EntrySpot<Mayfly> {
 public:
  using EntrySpot::EntrySpot;
};

// The run by hand: SPOTMESH_CHURN_CYCLES=10000000 build/release/bin/threaded_objects "Ten million*"
std::int64_t cycles() {
  const char* wanted = std::getenv("SPOTMESH_CHURN_CYCLES");
  return wanted != nullptr ? std::stoll(wanted) : 20'000;
}

// Whether it holds by the time when the node's threads have done what is left to do.
bool eventually(testing::LiveNode& node, const std::function<bool()>& holds) {
  for (int look = 0; look < 10'000 && !holds(); ++look) {
    node.call([](Context&) -> Task<void> { co_return; });
  }
  return holds();
}

// Of the heap; 0 where a sanitizer has replaced it.
std::size_t heap_bytes() { return mallinfo2().uordblks; }

Task<void> live_and_die(Context& context, std::string id, std::int64_t times) {
  for (std::int64_t i = 0; i < times; ++i) {
    auto made = co_await context.actors().create(id, "mayfly").timeout(60s).submit();
    if (!made) throw std::runtime_error(to_string(made.error()));
    auto ended = co_await context.actors().destroy(std::get<Created>(*made).actor);
    if (ended != true) throw std::runtime_error("an Actor did not end");
  }
}

// Several ids at once, so that cells end on other threads than they began on.
void churn(testing::LiveNode& node, std::int64_t times) {
  constexpr std::int64_t ids = 8;
  std::vector<std::future<void>> ends;
  for (std::int64_t id = 0; id < ids; ++id) {
    ends.push_back(node.begin([id, times](Context& context) {
      return live_and_die(context, "mayfly-" + std::to_string(id), times / ids);
    }));
  }
  for (auto& end : ends) end.get();
}

}  // namespace

TEST_CASE("Ten million Actors that were created and destroyed leave the memory flat",
          "[DESTROY-01]") {
  testing::LiveWorld world(2);
  testing::LiveNode& node = world.start([](Application& app) {
    auto& play = app.mesh("play").object_server();
    play.entry_spot<Pond>();
    play.actor<Mayfly>("mayfly", [](auto& f) { f.disable_relocation(); });
  });
  // What threads keep for the next block of the same size is there after these.
  churn(node, 8'000);
  const std::size_t records = world.store().size();
  const std::size_t heap = heap_bytes();
  churn(node, cycles());
  CHECK(world.store().size() == records);
  CHECK(node.objects().core().registry->actors().empty());
  // The last cells may still be on their way out on another thread.
  CHECK(eventually(node, [&] { return node.objects().core().gates->all().size() == 1; }));
  // What moves between the threads' lists, and less than 30 bytes for each cycle of the short run.
  CHECK(eventually(node, [&] { return heap_bytes() < heap + 512 * 1024; }));
  CHECK(world.errors() == 0);
}
