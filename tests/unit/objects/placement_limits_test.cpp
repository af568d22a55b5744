// Limits of nodes under many creations at once, and counts that stay true whatever becomes of what
// was created.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

#include "base/random.hpp"
#include "checks.hpp"
#include "location/keys.hpp"
#include "location/records.hpp"
#include "many_nodes.hpp"
#include "objects/creations.hpp"
#include "objects/joins.hpp"
#include "objects/registry.hpp"

using namespace spotmesh;
using namespace spotmesh::objects;

namespace {

constexpr std::uint64_t actor_limit = 60;
constexpr std::uint64_t spot_limit = 30;
constexpr std::uint64_t closet_limit = 7;
constexpr std::uint64_t pending_limit = 16;

// How the creations of one turn have ended.
struct Tally {
  template <typename Made, typename R>
  void note(const Result<R>& result) {
    if (result) {
      REQUIRE(std::holds_alternative<Made>(*result));
      ++made;
    } else {
      INFO(to_string(result.error()));
      CHECK(result.error().kind() == ErrorKind::CapacityExceeded);
      ++refused;
    }
  }
  int made = 0;
  int refused = 0;
};
struct Tallies {
  Tally actors;
  Tally rooms;
  Tally closets;
};

// 150 Actors, 50 rooms and 50 closets at one moment.
Task<Tallies> create_many(Context& context, std::string prefix) {
  std::vector<Task<Result<CreateResult>>> actors;
  std::vector<Task<Result<SpotCreateResult>>> rooms;
  std::vector<Task<Result<SpotCreateResult>>> closets;
  for (int i = 0; i < 150; ++i) {
    const std::string id = prefix + std::to_string(i);
    actors.push_back(context.actors().create(id, "pawn").timeout(30s).submit());
    if (i % 3 != 0) continue;
    rooms.push_back(context.spots().get_or_create("r" + id, "room").timeout(30s).submit());
    closets.push_back(context.spots().get_or_create("c" + id, "closet").timeout(30s).submit());
  }
  Tallies tallies;
  for (auto& each : actors) tallies.actors.note<Created>(co_await std::move(each));
  for (auto& each : rooms) tallies.rooms.note<SpotCreated>(co_await std::move(each));
  for (auto& each : closets) tallies.closets.note<SpotCreated>(co_await std::move(each));
  co_return tallies;
}

struct Limited : ManyNodes {
  explicit Limited(std::uint64_t seed)
      : ManyNodes(
            4,
            [this](ObjectServer& play, std::size_t) {
              play.actor_limit(actor_limit).spot_limit(spot_limit).pending_limit(pending_limit);
              play.user_spot<Room>("closet", [this](auto& f) {
                f.disable_relocation()
                    .limit(closet_limit)
                    .create_with([this](SpotContext& context) {
                      return std::make_unique<Room>(context, hooks);
                    });
              });
            },
            seed) {}

  Capacity::Usage closets(std::size_t node) {
    return (*this)[node].core().capacity->spots(*mesh(node).find_spot("closet"));
  }
  // Whether no node is past any limit at this moment.
  bool is_within_limits() {
    bool is_within = true;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const std::uint64_t pending = actors(i).pending + spots(i).pending;
      most_pending = std::max(most_pending, pending);
      is_within = is_within && actors(i).total() <= actor_limit && spots(i).total() <= spot_limit &&
                  closets(i).total() <= closet_limit && pending <= pending_limit;
    }
    return is_within;
  }
  std::uint64_t most_pending = 0;
};

}  // namespace

TEST_CASE("a thousand creations at once keep to every limit of every node", "[PLACE-05]") {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    INFO("seed " << seed);
    Limited game(seed);
    std::vector<std::shared_ptr<std::optional<Tallies>>> under_way;
    for (std::size_t i = 0; i < 4; ++i) {
      under_way.push_back(
          game[i].begin<Tallies>([prefix = std::string(1, char('a' + int(i)))](Context& context) {
            return create_many(context, prefix);
          }));
    }
    bool is_within_limits = true;
    game.wait_for([&] {
      is_within_limits = is_within_limits && game.is_within_limits();
      return std::ranges::all_of(under_way, [](const auto& each) { return each->has_value(); });
    });
    CHECK(is_within_limits);
    CHECK(game.most_pending == pending_limit);
    std::uint64_t actors = 0;
    std::uint64_t spots = 0;
    std::uint64_t closets = 0;
    for (std::size_t i = 0; i < 4; ++i) {
      CHECK(game.actors(i).pending + game.spots(i).pending == 0);
      actors += game.actors(i).active;
      spots += game.spots(i).active;
      closets += game.closets(i).active;
    }
    Tallies all;
    for (const auto& each : under_way) {
      all.actors.made += (*each)->actors.made;
      all.rooms.made += (*each)->rooms.made;
      all.closets.made += (*each)->closets.made;
      all.actors.refused += (*each)->actors.refused;
    }
    CHECK(actors == std::uint64_t(all.actors.made));
    CHECK(spots == std::uint64_t(all.rooms.made + all.closets.made));
    CHECK(closets == std::uint64_t(all.closets.made));
    CHECK(all.actors.refused > 0);
  }
}

TEST_CASE("what is left of the limits can be used to the last, and 0 means none", "[PLACE-05]") {
  Limited game(1);
  const auto fill = [&](auto create) {
    std::uint64_t made = 0;
    int refused_in_a_row = 0;
    // What others offer is told every few seconds: a node may look full for a moment.
    while (refused_in_a_row < 3) {
      if (create(std::to_string(made))) {
        ++made;
        refused_in_a_row = 0;
      } else {
        ++refused_in_a_row;
        game.sim.run_for(6s);
      }
      REQUIRE(game.is_within_limits());
    }
    return made;
  };
  const auto spot = [&](const std::string& type) {
    return [&game, type](const std::string& number) {
      const auto result = game[0].call<Result<SpotCreateResult>>([=](Context& context) {
        return context.spots().get_or_create(type + number, type).submit();
      });
      if (!result) check_error(result, ErrorKind::CapacityExceeded);
      return result.has_value();
    };
  };
  CHECK(fill(spot("closet")) == 4 * closet_limit);
  // Rooms have no limit of their own.
  CHECK(fill(spot("room")) == 4 * (spot_limit - closet_limit));
  CHECK(fill([&](const std::string& number) {
          const auto result = game[0].create("a" + number, "pawn");
          if (!result) check_error(result, ErrorKind::CapacityExceeded);
          return result.has_value();
        }) == 4 * actor_limit);
}

namespace {

// A few dozen ids that are created, refused, joined, left, closed and destroyed from everywhere.
class Bustle {
 public:
  explicit Bustle(std::uint64_t seed) : game_(3, {}, seed), random_(game_.sim.world.random("mix")) {
    const auto decide = [this] {
      const auto choice = random_below(random_, 8);
      if (choice == 0) throw std::runtime_error("no");
      return choice == 1 ? CreateDecision::reject() : CreateDecision::accept();
    };
    game_.hooks.on_create_actor = [decide](Actor&, const Message&) -> Task<CreateDecision> {
      co_return decide();
    };
    game_.hooks.on_create = [decide](SpotContext&, const Message&) -> Task<CreateDecision> {
      co_return decide();
    };
    game_.hooks.on_actor_join = [this](SpotContext&, std::string_view,
                                       const Message&) -> Task<JoinDecision> {
      co_return random_below(random_, 4) == 0 ? JoinDecision::reject() : JoinDecision::accept();
    };
    living_ = {0, 1, 2};
  }

  void go_on(int rounds) {
    for (int i = 0; i < rounds; ++i) {
      act(game_[living_[random_below(random_, living_.size())]]);
      game_.sim.run_for(std::chrono::microseconds(random_below(random_, 20'000)));
    }
  }
  void lose_one_and_add_one() {
    const std::size_t which = random_below(random_, living_.size());
    game_[living_[which]].crash();
    living_.erase(living_.begin() + std::ptrdiff_t(which));
    living_.push_back(game_.nodes.size());
    game_.add();
  }
  void check_counts() {
    game_.wait_for(
        [this] {
          return std::ranges::all_of(living_, [this](std::size_t number) {
            const auto backlog = game_[number].probe_mailbox().backlog();
            return backlog.application == 0 && !backlog.is_running;
          });
        },
        10min);
    // Long enough for the dead node's end, and for what is told only every few seconds.
    game_.sim.run_for(60s);
    for (const std::size_t number : living_) {
      INFO("node " << number);
      TestNode& node = game_[number];
      CHECK(node.core().creations->under_way() == 0);
      CHECK(node.core().joins->under_way() == 0);
      const std::uint64_t actors = node.core().registry->actors().size();
      std::uint64_t spots = 0;
      for (const auto& spot : node.core().registry->spots()) spots += spot->is_entry_spot() ? 0 : 1;
      check(game_.actors(number), actors);
      check(game_.spots(number), spots);
      const auto told = published(node);
      check({told.actors.active, told.actors.pending}, actors);
      check({told.spots.active, told.spots.pending}, spots);
      CHECK(told.spot_types.at(0).taken == spots);
      objects += actors + spots;
    }
  }
  std::uint64_t objects = 0;  // that lived when counts were checked

 private:
  static void check(const Capacity::Usage& usage, std::uint64_t living) {
    CHECK(usage.active == living);
    CHECK(usage.pending == 0);
  }
  location::MeshPart published(TestNode& node) {
    const std::string key = location::keys::node(node.core().identity.rid);
    const Bytes* value = game_.sim.store.peek(key);
    REQUIRE(value != nullptr);
    return *location::decode_node(key, *value)->find_mesh("play");
  }
  std::string some(const std::string& kind) {
    return kind + std::to_string(random_below(random_, 12));
  }
  void act(TestNode& node) {
    const std::string actor = some("a");
    const std::string room = some("r");
    switch (random_below(random_, 7)) {
      case 0:
      case 1:
        node.begin<Result<CreateResult>>([actor](Context& context) {
          return context.actors().get_or_create(actor, "pawn").timeout(500ms).submit();
        });
        break;
      case 2:
        node.begin<Result<SpotCreateResult>>([room](Context& context) {
          return context.spots().get_or_create(room, "room").timeout(500ms).submit();
        });
        break;
      case 3:
        node.begin<Result<bool>>([actor](Context& context) { return destroy(context, actor); });
        break;
      case 4:
        node.begin<Result<bool>>([room](Context& context) { return close(context, room); });
        break;
      default:
        node.begin<Result<void>>(
            [actor, spot = random_below(random_, 3) == 0 ? "" : room](Context& context) {
              return context.actors().send(actor, probe::Wish{.spot = spot}).submit();
            });
        break;
    }
  }
  static Task<Result<bool>> destroy(Context& context, std::string id) {
    auto found = co_await context.actors().find(id);
    if (!found || !found->has_value()) co_return false;
    co_return co_await context.actors().destroy(**found);
  }
  static Task<Result<bool>> close(Context& context, std::string id) {
    auto found = co_await context.spots().find(id);
    if (!found || !found->has_value()) co_return false;
    co_return co_await context.spots().close(**found);
  }

  ManyNodes game_;
  testing::SimRandom& random_;
  std::vector<std::size_t> living_;
};

}  // namespace

TEST_CASE(
    "after creations, refusals, Joins, ends and deaths of nodes each count is what lives, and "
    "so is what the node tells of it",
    "[PLACE-06]") {
  std::uint64_t objects = 0;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    INFO("seed " << seed);
    Bustle bustle(seed);
    bustle.go_on(150);
    bustle.lose_one_and_add_one();
    bustle.go_on(150);
    bustle.check_counts();
    bustle.go_on(100);
    bustle.check_counts();
    objects += bustle.objects;
  }
  CHECK(objects > 100);
}
