// A town whose Spots hear what is published.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <spotmesh/spotmesh.hpp>

#include "fixture.hpp"
#include "game.hpp"
#include "game_spots.hpp"
#include "probe.packets.hpp"

namespace spotmesh::objects {

// What its Spots do beyond writing themselves down, and what they have heard.
struct Plot {
  Hooks hooks;
  std::function<Task<void>(SpotContext&, const probe::Note&)> on_win;
  bool accepts_rooms = true;
  std::vector<std::string> heard;

  std::vector<std::string> take() { return std::exchange(heard, {}); }
  // Spots run at the same time: what several have heard has no order.
  std::vector<std::string> take_sorted() {
    std::ranges::sort(heard);
    return take();
  }
  std::size_t count(const std::string& line) const {
    return static_cast<std::size_t>(std::ranges::count(heard, line));
  }
};

class Square : public EntrySpot<Pawn> {
 public:
  Square(SpotContext& context, Plot& plot) : EntrySpot(context), plot_(plot) {}

  static void handlers(Handlers<Square>& on) {
    on.subscribe("news", "holiday", &Square::holiday);
    on.send(&Square::wish);
    on.request(&Square::poke);
  }
  void holiday(const probe::Note& note) { plot_.heard.push_back("square " + note.text); }
  Task<Result<void>> wish(Pawn& pawn, const probe::Wish& wish) const {
    return wish_join(pawn, wish);
  }
  Task<Result<probe::Poked>> poke(Pawn& pawn, const probe::Poke& poke) const {
    co_return co_await plot_.hooks.poke(pawn.context(), context(), poke);
  }

 private:
  Plot& plot_;
};

// A room that hears more.
class Theatre : public UserSpot<Pawn> {
 public:
  Theatre(SpotContext& context, Plot& plot) : UserSpot(context), plot_(plot) {}

  static void handlers(Handlers<Theatre>& on) {
    on.subscribe("news", "win", &Theatre::win);
    on.subscribe("news", "win", &Theatre::win_by_number);
    on.subscribe("news", "loss", &Theatre::loss);
    on.send(&Theatre::told);
  }

  Task<CreateDecision> on_create(const Message&) override {
    co_return plot_.accepts_rooms ? CreateDecision::accept() : CreateDecision::reject();
  }
  Task<void> win(const probe::Note& note, const MessageContext& context) {
    std::string line = name() + " win " + note.text;
    for (const auto& [key, value] : context.metadata()) line += " " + key + "=" + value;
    plot_.heard.push_back(std::move(line));
    if (plot_.on_win) co_await plot_.on_win(this->context(), note);
  }
  void win_by_number(const probe::Ask& ask) {
    plot_.heard.push_back(name() + " win number " + std::to_string(ask.value));
  }
  Result<void> loss(const probe::Note& note) {
    plot_.heard.push_back(name() + " loss " + note.text);
    return fail(Error::invalid_operation("no loss is accepted"));
  }
  void told(const probe::Note& note) { plot_.heard.push_back(name() + " told " + note.text); }

  std::string name() const { return context().spot_id().text(); }

 private:
  Plot& plot_;
};

// The same with another name, and fewer subscriptions.
class Cellar : public Theatre {
 public:
  using Theatre::Theatre;
  static void handlers(Handlers<Cellar>& on) { on.subscribe("news", "win", &Cellar::win); }
};

// `plot` outlives the application.
inline void configure_town(Application& app, Plot& plot) {
  auto& play = app.mesh("play").object_server();
  play.entry_spot<Square>([&plot](auto& f) {
    f.create_with(
        [&plot](SpotContext& context) { return std::make_unique<Square>(context, plot); });
  });
  play.actor<Pawn>("pawn", [&plot](auto& f) {
    f.disable_relocation().create_with(
        [&plot](ActorContext& context) { return std::make_unique<Pawn>(context, plot.hooks); });
  });
  play.user_spot<Room>("room", [&plot](auto& f) {
    f.disable_relocation().create_with(
        [&plot](SpotContext& context) { return std::make_unique<Room>(context, plot.hooks); });
  });
  play.user_spot<Theatre>("theatre", [&plot](auto& f) {
    f.disable_relocation().create_with(
        [&plot](SpotContext& context) { return std::make_unique<Theatre>(context, plot); });
  });
  play.user_spot<Cellar>("cellar", [&plot](auto& f) {
    f.disable_relocation().create_with(
        [&plot](SpotContext& context) { return std::make_unique<Cellar>(context, plot); });
  });
}

// What `node` publishes about a topic of the news.
template <typename P>
Result<void> publish(TestNode& node, const std::string& topic, const P& packet) {
  return node.call<Result<void>>(
      [=](Context& context) { return context.publish("news", topic, packet).submit(); });
}

using Lines = std::vector<std::string>;

}  // namespace spotmesh::objects
