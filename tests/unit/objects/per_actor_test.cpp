// PerActor User Spots: members, the Spot and each of its timers on gates of their own.
#include <catch2/catch.hpp>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "checks.hpp"
#include "objects/registry.hpp"
#include "one_node.hpp"

using namespace spotmesh;
using namespace spotmesh::objects;

namespace {

using Lines = std::vector<std::string>;

// Waits wherever it is told to, once.
struct Waits {
  Task<void> at(const std::string& place) {
    const auto found = latches.find(place);
    if (found == latches.end()) co_return;
    Latch latch = found->second;
    co_await latch.wait();
    latches.erase(place);
  }
  std::map<std::string, Latch> latches;
};

class Plaza : public PerActorSpot<Pawn> {
 public:
  Plaza(SpotContext& context, Hooks& hooks, Waits& waits)
      : PerActorSpot(context), hooks_(hooks), waits_(waits) {}

  static void handlers(Handlers<Plaza>& on) {
    on.request(&Plaza::poke);
    on.request(&Plaza::poke_spot);
    on.send(&Plaza::wish);
    on.timer("tick", 100ms, &Plaza::tick);
    on.timer("tock", 100ms, &Plaza::tock);
  }
  Task<JoinDecision> on_actor_join(std::string_view id, const Message&) override {
    hooks_.journal.note("on_actor_join " + std::string(id));
    co_return JoinDecision::accept();
  }
  Task<void> on_joined_actor(Pawn& pawn) override {
    hooks_.journal.note("on_joined_actor " + pawn.name());
    co_return;
  }
  Task<void> on_leave_actor(Pawn& pawn) override {
    hooks_.journal.note("on_leave_actor " + pawn.name());
    co_return;
  }
  Task<void> on_closing(ClosingReason, Instant) override {
    hooks_.journal.note("on_closing");
    co_return;
  }
  Task<Result<probe::Poked>> poke(Pawn& pawn, const probe::Poke& poke) const {
    hooks_.journal.note("plaza pokes " + pawn.name() + " at " + std::to_string(*price_.get()));
    if (hooks_.poke) co_return co_await hooks_.poke(pawn.context(), context(), poke);
    co_await waits_.at(pawn.name());
    hooks_.journal.note("poked " + pawn.name());
    co_return probe::Poked{};
  }
  Task<probe::Poked> poke_spot(const probe::Poke& poke) {
    price_.publish(poke.value);
    hooks_.journal.note("plaza is poked");
    co_await waits_.at("plaza");
    co_return probe::Poked{.value = poke.value};
  }
  Task<Result<void>> wish(Pawn& pawn, const probe::Wish& wish) const {
    return wish_join(pawn, wish);
  }
  Task<void> tick() const {
    hooks_.journal.note("tick");
    co_await waits_.at("tick");
    hooks_.journal.note("ticked");
  }
  void tock() const { hooks_.journal.note("tock"); }

 private:
  Hooks& hooks_;
  Waits& waits_;
  Published<int> price_{7};
};

struct PlazaNode {
  PlazaNode() {
    plaza.emplace(one->room("plaza", "plaza"));
    for (const std::string id : {"anna", "berta"}) {
      one->born(id, "pawn");
      REQUIRE(one->send(id, probe::Wish{.spot = "plaza"}).has_value());
    }
    one.run_for(50ms);
  }
  Lines lines_without_timers() {
    Lines lines;
    for (std::string& line : one.journal().take()) {
      if (line != "tick" && line != "ticked" && line != "tock") lines.push_back(std::move(line));
    }
    return lines;
  }
  auto poke(const std::string& id) {
    return one->begin<bool>([id](Context& context) -> Task<bool> {
      // Without waiting: the probe's turn ends at once.
      (void)context.actors().request<probe::Poked>(id, probe::Poke{}).timeout(60s).submit();
      co_return true;
    });
  }
  auto poke_spot(int value) {
    return one->begin<bool>([value](Context& context) -> Task<bool> {
      (void)context.spots()
          .request<probe::Poked>("plaza", probe::Poke{.value = value})
          .timeout(60s)
          .submit();
      co_return true;
    });
  }

  Waits waits;
  OneNode one{[this](ObjectServer& play) {
    play.user_spot<Plaza>("plaza", [this](auto& f) {
      f.per_actor().disable_relocation().create_with([this](SpotContext& context) {
        return std::make_unique<Plaza>(context, one.hooks, waits);
      });
    });
  }};
  std::optional<SpotRef> plaza;
};

template <typename F>
concept PreservesState = requires(F& f) { f.template preserve_state_with<int>(); };

}  // namespace

TEST_CASE("members of a PerActor Spot and the Spot itself run side by side, each in its order",
          "[PERACTOR-01][TURN-10][TURN-11]") {
  PlazaNode node;
  CHECK(node.one.journal().count("on_joined_actor anna") == 1);
  CHECK(node.one.journal().count("on_leave_actor hall anna") == 1);
  node.one.journal().take();
  for (const std::string place : {"anna", "plaza"}) node.waits.latches[place];
  for (const auto& poke : std::vector<std::function<void()>>{
           [&] { node.poke("anna"); }, [&] { node.poke("anna"); }, [&] { node.poke_spot(8); },
           [&] { node.poke_spot(9); }, [&] { node.poke("berta"); }}) {
    poke();
    node.one.run_for(10ms);
  }
  // Anna's handler and the Spot's wait, berta's has ended, and sees what was published.
  CHECK(node.lines_without_timers() ==
        Lines{"plaza pokes anna at 7", "plaza is poked", "plaza pokes berta at 8", "poked berta"});
  node.waits.latches["anna"].open();
  node.one.run_for(10ms);
  CHECK(node.lines_without_timers() == Lines{"poked anna", "plaza pokes anna at 8", "poked anna"});
  node.waits.latches["plaza"].open();
  node.one.run_for(10ms);
  CHECK(node.lines_without_timers() == Lines{"plaza is poked"});
}

TEST_CASE("each timer of a PerActor Spot has a gate of its own", "[PERACTOR-01][TIMER-02]") {
  PlazaNode node;
  for (const std::string place : {"tick", "plaza"}) node.waits.latches[place];
  node.poke_spot(1);
  node.one.run_for(10ms);
  node.one.journal().take();
  node.one.run_for(1s);
  const auto count = [&](const std::string& line) { return node.one.journal().count(line); };
  CHECK(count("tick") == 1);  // never beside itself
  CHECK(count("ticked") == 0);
  CHECK(count("tock") == 10);  // beside another key and beside the Spot's handler
  node.waits.latches["tick"].open();
  node.one.run_for(1s);
  CHECK(count("ticked") >= 10);
  node.waits.latches["plaza"].open();
  node.one.run_for(10ms);
}

TEST_CASE("ticks of a PerActor Spot that do not end are told of, each beside the Spot's own turn",
          "[PERACTOR-01][TURN-07]") {
  PlazaNode node;
  for (const std::string place : {"tick", "plaza"}) node.waits.latches[place];
  node.poke_spot(1);
  node.one.run_for(9s);
  CHECK(node.one->metrics().stuck_turns.value() == 0);
  node.one.run_for(5s);
  CHECK(node.one->metrics().stuck_turns.value() == 2);
  const std::string trace = node.one.sim.world.trace().text();
  INFO(trace);
  CHECK(trace.find("owner=Spot 'plaza' what=tick") != std::string::npos);
  CHECK(trace.find("owner=Spot 'plaza' what=probe.Poke") != std::string::npos);
  for (const std::string place : {"tick", "plaza"}) node.waits.latches[place].open();
  node.one.run_for(60s);
  CHECK(node.one->metrics().stuck_turns.value() == 2);
}

TEST_CASE("a PerActor Spot closes after its last tick", "[PERACTOR-01][TIMER-01]") {
  PlazaNode node;
  for (const std::string id : {"anna", "berta"}) {
    REQUIRE(node.one->send(id, probe::Wish{}).has_value());
  }
  node.waits.latches["tick"];
  node.one.run_for(200ms);
  const auto closed = node.one->begin<bool>([ref = *node.plaza](Context& context) -> Task<bool> {
    co_return (co_await context.spots().close(ref)) == true;
  });
  node.one.run_for(200ms);
  CHECK(node.one.journal().count("on_leave_actor anna") == 1);
  CHECK(node.one.journal().count("on_closing") == 0);
  node.one.journal().take();
  node.waits.latches["tick"].open();
  node.one.run_for(1s);
  CHECK(*closed == true);
  CHECK(node.one.journal().take() == Lines{"ticked", "on_closing"});
}

TEST_CASE("nobody can yield in a PerActor Spot", "[YIELD-03]") {
  PlazaNode node;
  int asked = 0;
  node.one.hooks.poke = [&](ActorContext& context, SpotContext&,
                            const probe::Poke&) -> Task<Result<probe::Poked>> {
    ++asked;
    check_error(co_await context.actors().request<probe::Poked>("berta", probe::Poke{}).yield(),
                ErrorKind::InvalidOperation, "yield");
    co_return probe::Poked{};
  };
  REQUIRE(node.one->request<probe::Poked>("anna", probe::Poke{}).has_value());
  CHECK(asked == 1);
}

TEST_CASE("what is sent to a member passes its mailbox alone", "[TURN-02]") {
  const bool is_per_actor = GENERATE(false, true);
  PlazaNode node;
  node.one->room("red", "room");
  if (!is_per_actor) {
    REQUIRE(node.one->send("anna", probe::Wish{.spot = "red"}).has_value());
    node.one.run_for(1s);
  }
  Latch latch;
  node.one.hooks.poke = [&](ActorContext&, SpotContext&,
                            const probe::Poke&) -> Task<Result<probe::Poked>> {
    co_await latch.wait();
    co_return probe::Poked{};
  };
  node.poke("anna");
  for (int i = 0; i < 20; ++i) {
    REQUIRE(node.one->send("anna", probe::Note{.text = "n"}).has_value());
  }
  auto& registry = *node.one->core().registry;
  const auto anna = registry.find_actor("anna");
  const auto spot = anna->spot();
  CHECK(spot->id().text() == (is_per_actor ? "plaza" : "red"));
  CHECK(anna->mailbox().backlog().application == 20);
  CHECK(spot->mailbox().backlog().application == 0);
  CHECK(spot->mailbox().backlog().control == 0);
  latch.open();
  node.one.run_for(10ms);
  CHECK(node.one.journal().count("anna notes n") == 20);
}

TEST_CASE("SpotWide is what a User Spot is unless it says otherwise", "[PERACTOR-02]") {
  STATIC_REQUIRE(UserSpot<Pawn>::shares_gate_with_members);
  STATIC_REQUIRE_FALSE(PreservesState<SpotFactory<Plaza>>);
  PlazaNode node;
  const SpotRef red = node.one->room("red", "room");
  auto& registry = *node.one->core().registry;
  CHECK(registry.find_spot(red.spot_id.text())->shares_gate());
  CHECK_FALSE(registry.find_spot("plaza")->shares_gate());
  CHECK(&registry.find_actor("anna")->mailbox().gate() !=
        &registry.find_spot("plaza")->mailbox().gate());
}
