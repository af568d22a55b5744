// Publications on one node.
#include <catch2/catch.hpp>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "checks.hpp"
#include "fixture.hpp"
#include "town.hpp"

using namespace spotmesh;
using namespace spotmesh::objects;

namespace {

struct Town {
  explicit Town(ObjectsConfig config = {}) {
    configure_town(app, plot);
    one.emplace(sim.world, sim.store, app, "one", std::move(config));
    REQUIRE(one->start().has_value());
  }
  template <typename P>
  Result<void> publish(const std::string& topic, const P& packet) {
    return objects::publish(*one, topic, packet);
  }
  std::vector<std::string> take() { return plot.take(); }
  std::vector<std::string> take_sorted() { return plot.take_sorted(); }
  void settle() { sim.run_for(100ms); }

  Plot plot;
  Application app;
  TestWorld sim;
  std::optional<TestNode> one;
};

}  // namespace

TEST_CASE("each subscribed Spot gets a publication once, and no other does", "[PUB-01]") {
  Town town;
  town.one->room("a", "theatre");
  town.one->room("b", "theatre");
  town.one->room("c", "cellar");
  town.one->room("red", "room");
  REQUIRE(town.publish("win", probe::Note{.text = "1:0"}).has_value());
  town.settle();
  CHECK(town.take_sorted() == Lines{"a win 1:0", "b win 1:0", "c win 1:0"});
  REQUIRE(town.publish("loss", probe::Note{.text = "0:1"}).has_value());
  town.settle();
  CHECK(town.take_sorted() == Lines{"a loss 0:1", "b loss 0:1"});
  REQUIRE(town.publish("holiday", probe::Note{.text = "May"}).has_value());
  town.settle();
  CHECK(town.take() == Lines{"square May"});
  REQUIRE(town.one
              ->call<Result<void>>([](Context& context) {
                return context.publish("olds", "win", probe::Note{}).submit();
              })
              .has_value());
  town.settle();
  CHECK(town.take().empty());
  CHECK(town.one->metrics().publications.value() == 4);
  CHECK(town.one->metrics().handler_errors.value() == 2);
}

TEST_CASE("each packet of a topic has its handler, and metadata comes along", "[PUB-01]") {
  Town town;
  town.one->room("a", "theatre");
  town.one->room("c", "cellar");
  REQUIRE(town.publish("win", probe::Ask{.value = 3}).has_value());
  town.settle();
  CHECK(town.take() == Lines{"a win number 3"});
  // The cellar has subscribed, and has no handler for that packet.
  CHECK(town.one->metrics().no_handler.value() == 1);
  CHECK(town.sim.world.trace().text().find("no subscription handler") != std::string::npos);
  REQUIRE(town.one
              ->call<Result<void>>([](Context& context) {
                return context.publish("news", "win", probe::Note{.text = "x"})
                    .in_mesh("play")
                    .metadata("by", "probe")
                    .submit();
              })
              .has_value());
  town.settle();
  CHECK(town.take_sorted() == Lines{"a win x by=probe", "c win x by=probe"});
}

TEST_CASE("a Spot that has ended, or was not accepted, gets no publication", "[PUB-01]") {
  Town town;
  const SpotRef a = town.one->room("a", "theatre");
  town.one->room("b", "theatre");
  town.plot.accepts_rooms = false;
  const auto refused = town.one->call<Result<SpotCreateResult>>(
      [](Context& context) { return context.spots().get_or_create("c", "theatre").submit(); });
  REQUIRE(refused.has_value());
  CHECK(std::holds_alternative<Rejected>(*refused));
  town.plot.accepts_rooms = true;
  REQUIRE(town.one->close(a) == Result<bool>(true));
  REQUIRE(town.publish("win", probe::Note{.text = "x"}).has_value());
  town.settle();
  CHECK(town.take() == Lines{"b win x"});
  // The id again is another Spot.
  town.one->room("a", "theatre");
  REQUIRE(town.publish("win", probe::Note{.text = "y"}).has_value());
  town.settle();
  CHECK(town.take_sorted() == Lines{"a win y", "b win y"});
  CHECK(town.one->metrics().missed_publications.value() == 0);
}

TEST_CASE("a publication is done when it is handed over, whatever its subscribers do", "[PUB-03]") {
  Town town;
  town.one->room("a", "theatre");
  town.one->room("b", "theatre");
  town.one->room("c", "theatre");
  Latch latch;
  town.plot.on_win = [&](SpotContext& context, const probe::Note& note) -> Task<void> {
    if (context.spot_id().text() == "a" && note.text == "1") co_await latch.wait();
    if (context.spot_id().text() == "b") throw std::runtime_error("b is in a bad mood");
  };
  REQUIRE(town.publish("win", probe::Note{.text = "1"}).has_value());
  REQUIRE(town.publish("win", probe::Note{.text = "2"}).has_value());
  town.settle();
  CHECK(town.take_sorted() == Lines{"a win 1", "b win 1", "b win 2", "c win 1", "c win 2"});
  CHECK(town.one->metrics().handler_throws.value() == 2);
  latch.open();
  town.settle();
  CHECK(town.take() == Lines{"a win 2"});
}

TEST_CASE("a publication without any subscriber is a success", "[PUB-03]") {
  Town town;
  REQUIRE(town.publish("win", probe::Note{}).has_value());
  REQUIRE(town.publish("draw", probe::Note{}).has_value());
  CHECK(town.one->metrics().missed_publications.value() == 0);
}

TEST_CASE("a subscriber whose mailbox is full misses it, and nobody else does", "[PUB-03]") {
  ObjectsConfig config;
  config.mailbox.application_jobs = 2;
  Town town(config);
  town.one->room("a", "theatre");
  town.one->room("b", "theatre");
  Latch latch;
  town.plot.on_win = [&](SpotContext& context, const probe::Note& note) -> Task<void> {
    if (context.spot_id().text() == "a" && note.text == "1") co_await latch.wait();
  };
  for (const std::string text : {"1", "2", "3", "4", "5"}) {
    REQUIRE(town.publish("win", probe::Note{.text = text}).has_value());
    town.settle();
  }
  CHECK(town.one->metrics().missed_publications.value() == 2);
  CHECK(town.sim.world.trace().text().find("Spot 'a' misses 'probe.Note'") != std::string::npos);
  CHECK(town.plot.count("b win 5") == 1);
  latch.open();
  town.settle();
  CHECK(town.plot.count("a win 3") == 1);
  CHECK(town.plot.count("a win 4") == 0);
}

TEST_CASE("publications and messages of one gate reach a Spot in their order", "[PUB-01]") {
  Town town;
  town.one->room("a", "theatre");
  const auto sent = town.one->begin<Result<void>>([](Context& context) -> Task<Result<void>> {
    for (int i = 0; i < 5; ++i) {
      const std::string text = std::to_string(i);
      (void)context.publish("news", "win", probe::Note{.text = text}).submit();
      (void)context.spots().send("a", probe::Note{.text = text}).submit();
    }
    co_return Result<void>();
  });
  town.settle();
  CHECK(town.take() == Lines{"a win 0", "a told 0", "a win 1", "a told 1", "a win 2", "a told 2",
                             "a win 3", "a told 3", "a win 4", "a told 4"});
}

TEST_CASE("a subscription's handler defers Joins of its Spot's members, and of nobody else",
          "[DEFER-09]") {
  Town town;
  town.one->born("anna", "pawn");
  town.one->born("berta", "pawn");
  town.one->room("a", "theatre");
  town.one->room("red", "room");
  REQUIRE(town.one->send("anna", probe::Wish{.spot = "a"}).has_value());
  town.settle();
  REQUIRE(town.one->spot_of("anna")->spot_id.text() == "a");
  ActorContext* stranger = nullptr;
  town.plot.hooks.poke = [&](ActorContext& context, SpotContext&,
                             const probe::Poke&) -> Task<Result<probe::Poked>> {
    stranger = &context;
    co_return probe::Poked{};
  };
  REQUIRE(town.one->request<probe::Poked>("berta", probe::Poke{}).has_value());
  town.plot.on_win = [&](SpotContext& context, const probe::Note&) -> Task<void> {
    const auto members = context.members<Pawn>();
    REQUIRE(members.size() == 1);
    CHECK(members.front()->context().join_spot("red").defer().has_value());
    check_error(stranger->join_spot("red").defer(), ErrorKind::InvalidOperation,
                "no member of this handler's Spot");
    co_return;
  };
  REQUIRE(town.publish("win", probe::Note{.text = "go"}).has_value());
  town.settle();
  CHECK(town.one->spot_of("anna")->spot_id.text() == "red");
  CHECK(town.one->spot_of("berta")->spot_id.text() != "red");
}

TEST_CASE("a publication that is described wrongly goes nowhere", "[PUB-01]") {
  Town town;
  town.one->room("a", "theatre");
  const auto submit = [&](std::function<PublishCall(Context&)> describe) {
    return town.one->call<Result<void>>(
        [=](Context& context) { return describe(context).submit(); });
  };
  check_error(submit([](Context& context) { return context.publish("", "win", probe::Note{}); }),
              ErrorKind::InvalidOperation, "channel");
  check_error(submit([](Context& context) {
                return context.publish("news", std::string(256, 'x'), probe::Note{});
              }),
              ErrorKind::InvalidOperation, "topic");
  check_error(submit([](Context& context) {
                return context.publish("news", "win", probe::Note{}).in_mesh("play").in_mesh("x");
              }),
              ErrorKind::InvalidOperation, "in_mesh");
  check_error(submit([](Context& context) {
                return context.publish("news", "win", probe::Note{}).in_mesh("nowhere");
              }),
              ErrorKind::NotFound, "nowhere");
  const Message large(PacketTraits<probe::Blob>::descriptor(),
                      SharedBytes(Bytes(limits::message_bytes + 1)));
  check_error(submit([&](Context& context) { return context.publish("news", "win", large); }),
              ErrorKind::InvalidOperation, "bytes");
  town.settle();
  CHECK(town.take().empty());
  CHECK(town.one->metrics().publications.value() == 0);
}
