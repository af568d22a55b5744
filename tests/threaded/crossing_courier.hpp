// The courier of the crossing game, who does everything that a game can do to objects elsewhere.
#pragma once

#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <spotmesh/spotmesh.hpp>

#include "crossing.packets.hpp"
#include "crossing_game.hpp"
#include "crossing_record.hpp"

namespace spotmesh::crossing_game {

// One round is one turn, so that couriers hear what they are told in between.
class Courier : public Actor {
 public:
  Courier(ActorContext& context, Verdict& verdict)
      : Actor(context),
        voice_(context, verdict, number_in(context.actor_id().text(), "courier")),
        random_(static_cast<std::uint64_t>(voice_.self())) {}
  static void handlers(ActorHandlers<Courier>& on) {
    on.send(&Courier::step);
    on.send(&Courier::go);
    on.request(&Courier::ask);
    on.request(&Courier::settle);
  }
  void step(const crossing::Step& step) { voice_.hear(step); }
  crossing::Answer ask(const crossing::Ask& ask) { return answer_to(ask); }
  Task<crossing::Settled> settle(const crossing::Settle&) { return voice_.settle(); }

  Task<void> go(const crossing::Go& go) {
    std::vector<Voice::Said> burst;
    for (int left = 1 + below(4); left > 0; --left) {
      burst.push_back(voice_.say((voice_.self() + 1 + below(residents - 1)) % residents));
    }
    co_await voice_.keep(std::move(burst));
    co_await run_errand();
    if (go.rounds <= 1) {
      voice_.verdict().stop_roaming();
      co_return;
    }
    voice_.check(co_await context()
                     .actors()
                     .send(context().actor_id().text(), crossing::Go{.rounds = go.rounds - 1})
                     .submit());
  }

 private:
  int below(int bound) { return static_cast<int>(random_() % static_cast<std::uint64_t>(bound)); }

  // Residents ask only those who never wait for anybody but the store.
  Task<void> run_errand() {
    switch (below(8)) {
      case 0:
      case 1:
        return voice_.ask(couriers + below(posts));
      case 2:
        return meet_wanderer(below(wanderers));
      case 3:
        return meet_tent(below(tents));
      case 4:
        return make(below(wanderers), below(tents));
      case 5:
        return end_wanderer(below(wanderers));
      case 6:
        return end_tent(below(tents));
      default:
        return publish();
    }
  }
  static std::string wanderer(int number) { return fmt::format("wanderer{}", number); }
  static std::string tent(int number) { return fmt::format("tent{}", number); }

  template <typename Things>
  Task<void> meet(Things& things, const std::string id, int whom) {
    // Not awaited one by one, so that they leave as one batch, or wait together.
    std::vector<Task<Result<void>>> sends;
    for (int i = 0; i < 3; ++i) {
      const crossing::Step step{.from = voice_.self(), .number = voice_.next_number(whom)};
      sends.push_back(things.send(id, step).submit());
    }
    for (auto& each : sends) voice_.check_passing(co_await std::move(each));
    voice_.check_passing(co_await things.template request<crossing::Answer>(id, crossing::Ask{})
                             .timeout(patience)
                             .submit());
  }
  Task<void> meet_wanderer(int number) {
    return meet(context().actors(), wanderer(number), residents + number);
  }
  Task<void> meet_tent(int number) {
    return meet(context().spots(), tent(number), residents + wanderers + number);
  }
  Task<void> make(int a_wanderer, int a_tent) {
    voice_.check_passing(co_await context()
                             .actors()
                             .get_or_create(wanderer(a_wanderer), "wanderer")
                             .timeout(patience)
                             .submit());
    voice_.check_passing(
        co_await context().spots().get_or_create(tent(a_tent), "tent").timeout(patience).submit());
  }
  Task<void> end_wanderer(int number) {
    auto found = co_await context().actors().find(wanderer(number));
    voice_.check_passing(found);
    if (!found || !found->has_value()) co_return;
    voice_.check_passing(co_await context().actors().destroy(**found));
  }
  Task<void> end_tent(int number) {
    auto found = co_await context().spots().find(tent(number));
    voice_.check_passing(found);
    if (!found || !found->has_value()) co_return;
    voice_.check_passing(co_await context().spots().close(**found));
  }
  Task<void> publish() {
    const std::int64_t number = ++last_publication_;
    auto news =
        context()
            .publish("crossing", "news", crossing::News{.from = voice_.self(), .number = number})
            .submit();
    auto weather = context()
                       .publish("crossing", "weather",
                                crossing::Weather{.from = voice_.self(), .number = number})
                       .submit();
    if (voice_.check(co_await std::move(news))) voice_.record().published.push_back(number);
    voice_.check(co_await std::move(weather));
  }

  Voice voice_;
  std::mt19937_64 random_;
  std::int64_t last_publication_ = 0;
};

class Square : public EntrySpot<Actor> {
 public:
  using EntrySpot::EntrySpot;
};

// What comes and goes is at home on every node; residents on the one of their number, by a type of
// its own.
inline void configure(Application& app, Verdict& verdict, const std::string& home) {
  app.packets(crossing::packets());
  auto& play = app.mesh("play").object_server();
  play.entry_spot<Square>();
  play.actor<Wanderer>("wanderer", [&](auto& f) {
    f.disable_relocation().create_with(
        [&verdict](ActorContext& context) { return std::make_unique<Wanderer>(context, verdict); });
  });
  play.user_spot<Tent>("tent", [&](auto& f) {
    f.disable_relocation().create_with(
        [&verdict](SpotContext& context) { return std::make_unique<Tent>(context, verdict); });
  });
  if (home.empty()) return;
  play.actor<Courier>("courier-" + home, [&](auto& f) {
    f.disable_relocation().create_with(
        [&verdict](ActorContext& context) { return std::make_unique<Courier>(context, verdict); });
  });
  play.user_spot<Post>("post-" + home, [&](auto& f) {
    f.disable_relocation().create_with(
        [&verdict](SpotContext& context) { return std::make_unique<Post>(context, verdict); });
  });
}

}  // namespace spotmesh::crossing_game
