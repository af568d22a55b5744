// What a game pays: Actors of an Application, found by id, on the worker threads of production and
// a store in memory.
#include <benchmark/benchmark.h>
#include <malloc.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <future>
#include <memory>
#include <semaphore>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <spotmesh/spotmesh.hpp>

#include "bench.packets.hpp"
#include "live_node.hpp"

namespace spotmesh {
namespace {

using namespace std::chrono_literals;
using testing::LiveNode;
using testing::LiveWay;
using testing::LiveWorld;

// Counts what has ended; a round of a benchmark waits for as many as it has begun.
struct Finish {
  void one() { ended.release(); }
  void wait(std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) ended.acquire();
  }
  std::counting_semaphore<> ended{0};
};

class Player : public Actor {
 public:
  Player(ActorContext& context, Finish& finish) : Actor(context), finish_(finish) {}

  static void handlers(ActorHandlers<Player>& on) {
    on.send(&Player::ball);
    on.send(&Player::flood);
    on.send(&Player::drop);
    on.send(&Player::wander);
    on.send(&Player::arm);
    on.timer("tick", &Player::tick);
  }
  // Back to the other of the pair: "7a" and "7b".
  void ball(const bench::Ball& ball) {
    if (ball.left == 0) return finish_.one();
    if (peer_.empty()) {
      peer_ = context().actor_id().text();
      peer_.back() = peer_.back() == 'a' ? 'b' : 'a';
    }
    (void)context().actors().send(peer_, bench::Ball{.left = ball.left - 1}).submit();
  }
  void flood(const bench::Flood& flood) {
    for (std::int64_t i = 1; i <= flood.messages; ++i) {
      (void)context().actors().send(flood.to, bench::Drop{.last = i == flood.messages}).submit();
    }
  }
  void drop(const bench::Drop& drop) {
    if (drop.last) finish_.one();
  }
  Result<void> wander(const bench::Wander& wander) {
    rounds_ = wander.rounds;
    return join_next();
  }
  Task<void> on_join_completed(const JoinCompletion& completion) override {
    if (!std::holds_alternative<JoinAccepted>(completion)) std::terminate();
    if (--rounds_ == 0) {
      finish_.one();
    } else {
      // A Join can be registered in a handler only.
      (void)context()
          .actors()
          .send(context().actor_id().text(), bench::Wander{.rounds = rounds_})
          .submit();
    }
    co_return;
  }
  Result<void> arm(const bench::Arm& arm) {
    rounds_ = arm.times;
    return context().timers().start_once("tick", Duration::zero());
  }
  Result<void> tick() {
    if (--rounds_ == 0) {
      finish_.one();
      return {};
    }
    return context().timers().start_once("tick", Duration::zero());
  }

 private:
  Result<void> join_next() {
    auto call = rounds_ % 2 == 0 ? context().join_spot("room") : context().join_entry_spot();
    auto deferred = std::move(call).defer();
    if (!deferred) return fail(deferred.error());
    return {};
  }

  Finish& finish_;
  std::string peer_;
  int rounds_ = 0;
};

class Hall : public EntrySpot<Player> {
 public:
  using EntrySpot::EntrySpot;
};

class Room : public UserSpot<Player> {
 public:
  using UserSpot::UserSpot;
};

// Nodes that know each other's types, each with one of its own for its players, so that these are
// made there.
struct Game {
  explicit Game(unsigned threads, std::size_t mailbox = limits::mailbox_application_jobs,
                const std::string& home = {}, LiveWay way = LiveWay::None)
      : world(threads), mailbox(mailbox), node(add(home, way)) {}

  LiveNode& add(const std::string& home, LiveWay way) {
    return world.start(
        [&](Application& app) {
          auto& play = app.mesh("play").object_server();
          play.entry_spot<Hall>();
          play.actor<Player>("player" + home, [this](auto& f) {
            f.disable_relocation().create_with([this](ActorContext& context) {
              return std::make_unique<Player>(context, finish);
            });
          });
          play.user_spot<Room>("room", [](auto& f) { f.disable_relocation(); });
        },
        {.objects = {.mailbox = {.application_jobs = mailbox}}, .way = way});
  }

  static Task<void> create(Context& context, std::string id, std::string type) {
    auto made = co_await context.actors().create(id, type).timeout(60s).submit();
    if (!made) throw std::runtime_error(to_string(made.error()));
  }
  // `count` Actors "0x", "1x", …, from a few turns at once.
  void create_all(std::int64_t count, char suffix) { create_all(count, suffix, node, "player"); }
  static void create_all(std::int64_t count, char suffix, LiveNode& on, const std::string& type) {
    constexpr std::int64_t turns = 64;
    std::vector<std::future<void>> ends;
    for (std::int64_t turn = 0; turn < turns; ++turn) {
      ends.push_back(on.begin([=](Context& context) -> Task<void> {
        for (std::int64_t i = turn; i < count; i += turns) {
          co_await create(context, std::to_string(i) + suffix, type);
        }
      }));
    }
    for (auto& end : ends) end.get();
  }
  template <typename P>
  void send(const std::string& id, const P& packet) {
    node.call([&](Context& context) -> Task<void> {
      if (auto sent = co_await context.actors().send(id, packet).submit(); !sent) {
        throw std::runtime_error(to_string(sent.error()));
      }
    });
  }

  Finish finish;
  LiveWorld world;
  const std::size_t mailbox;
  LiveNode& node;
};

// Pairs of Actors that throw a ball to and fro: range(0) pairs on range(1) workers.
void ping_pong(benchmark::State& state) {
  constexpr std::int64_t crossings = 100'000;
  const std::int64_t pairs = state.range(0);
  Game game(static_cast<unsigned>(state.range(1)));
  game.create_all(pairs, 'a');
  game.create_all(pairs, 'b');
  for (auto _ : state) {
    for (std::int64_t pair = 0; pair < pairs; ++pair) {
      game.send(std::to_string(pair) + "a", bench::Ball{.left = crossings});
    }
    game.finish.wait(pairs);
  }
  state.SetItemsProcessed(state.iterations() * pairs * crossings);
}
BENCHMARK(ping_pong)->ArgNames({"pairs", "workers"})->Args({1, 1})->Args({16, 2})->UseRealTime();

// range(0) Actors send to one, on two workers. Its mailbox takes all they can have under way.
void producers_to_one_mailbox(benchmark::State& state) {
  constexpr std::int64_t messages = 20'000;
  const std::int64_t producers = state.range(0);
  Game game(2, static_cast<std::size_t>(producers * messages));
  game.create_all(producers, 'p');
  game.create_all(1, 'c');
  for (auto _ : state) {
    for (std::int64_t producer = 0; producer < producers; ++producer) {
      game.send(std::to_string(producer) + "p", bench::Flood{.to = "0c", .messages = messages});
    }
    game.finish.wait(producers);
  }
  state.SetItemsProcessed(state.iterations() * producers * messages);
}
BENCHMARK(producers_to_one_mailbox)->ArgName("producers")->Arg(1)->Arg(4)->Arg(16)->UseRealTime();

// Actors of one node send to as many of another, on two workers.
void send_to_another_node(benchmark::State& state, LiveWay way) {
  constexpr std::int64_t messages = 4000;
  const std::int64_t senders = state.range(0);
  Game game(2, messages, "-near", way);
  LiveNode& far = game.add("-far", way);
  Game::create_all(senders, 's', game.node, "player-near");
  Game::create_all(senders, 'r', far, "player-far");
  const auto flood = [&](std::int64_t of_each) {
    for (std::int64_t i = 0; i < senders; ++i) {
      const std::string number = std::to_string(i);
      game.send(number + "s", bench::Flood{.to = number + "r", .messages = of_each});
    }
    game.finish.wait(senders);
  };
  flood(1);  // the routes are known from here on
  for (auto _ : state) flood(messages);
  state.SetItemsProcessed(state.iterations() * senders * messages);
}
void senders_to_another_node(benchmark::State& state) {
  send_to_another_node(state, LiveWay::Memory);
}
void senders_over_sockets(benchmark::State& state) {
  send_to_another_node(state, LiveWay::Sockets);
}
BENCHMARK(senders_to_another_node)->ArgName("senders")->Arg(1)->Arg(4)->Arg(16)->UseRealTime();
BENCHMARK(senders_over_sockets)->ArgName("senders")->Arg(1)->Arg(4)->Arg(16)->UseRealTime();

void create_and_destroy(benchmark::State& state) {
  constexpr std::int64_t cycles = 1000;
  Game game(2);
  for (auto _ : state) {
    game.node.call([](Context& context) -> Task<void> {
      for (std::int64_t i = 0; i < cycles; ++i) {
        auto made = co_await context.actors().create("x", "player").submit();
        if (!made) throw std::runtime_error(to_string(made.error()));
        auto ended = co_await context.actors().destroy(std::get<Created>(*made).actor);
        if (!ended) throw std::runtime_error(to_string(ended.error()));
      }
    });
  }
  state.SetItemsProcessed(state.iterations() * cycles);
}
BENCHMARK(create_and_destroy)->UseRealTime();

// One Actor to a room and back: every item is a whole Join, its commit included.
void join(benchmark::State& state) {
  constexpr int joins = 1000;
  Game game(2);
  game.create_all(1, 'j');
  game.node.call([](Context& context) -> Task<void> {
    auto room = co_await context.spots().get_or_create("room", "room").submit();
    if (!room) throw std::runtime_error(to_string(room.error()));
  });
  for (auto _ : state) {
    game.send("0j", bench::Wander{.rounds = joins});
    game.finish.wait(1);
  }
  state.SetItemsProcessed(state.iterations() * joins);
}
BENCHMARK(join)->UseRealTime();

// A hundred Actors, each arming a timer that is due at once whenever it has fired.
void timer_arm_and_fire(benchmark::State& state) {
  constexpr std::int64_t actors = 100;
  constexpr int times = 1000;
  Game game(2);
  game.create_all(actors, 't');
  for (auto _ : state) {
    for (std::int64_t i = 0; i < actors; ++i) {
      game.send(std::to_string(i) + "t", bench::Arm{.times = times});
    }
    game.finish.wait(actors);
  }
  state.SetItemsProcessed(state.iterations() * actors * times);
}
BENCHMARK(timer_arm_and_fire)->UseRealTime();

// What the process holds of the machine's memory.
std::size_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  std::size_t size = 0;
  std::size_t resident = 0;
  statm >> size >> resident;
  return resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

// The memory of range(0) idle Actors without what the store keeps of them, of the heap and of the
// whole process, and what one pair does beside them.
void idle_actors(benchmark::State& state) {
  constexpr std::int64_t crossings = 100'000;
  const std::int64_t idle = state.range(0);
  Game game(1);
  game.create_all(1, 'a');
  game.create_all(1, 'b');
  const std::size_t heap_before = mallinfo2().uordblks;
  const std::size_t resident_before = resident_bytes() - game.world.store().bytes();
  game.create_all(idle, 'i');
  const std::size_t heap = mallinfo2().uordblks - heap_before;
  const std::size_t resident = resident_bytes() - game.world.store().bytes() - resident_before;
  for (auto _ : state) {
    game.send("0a", bench::Ball{.left = crossings});
    game.finish.wait(1);
  }
  state.SetItemsProcessed(state.iterations() * crossings);
  state.counters["bytes_per_actor"] = static_cast<double>(heap) / static_cast<double>(idle);
  // A process has room for a few Actors before it asks the system for more.
  if (idle < 100'000) return;
  state.counters["resident_per_actor"] = static_cast<double>(resident) / static_cast<double>(idle);
}
BENCHMARK(idle_actors)->Arg(1000)->Arg(1'000'000)->UseRealTime()->Iterations(20);

}  // namespace
}  // namespace spotmesh
