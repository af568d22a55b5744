// The events that a node keeps for those who watch.
#include "host/event_ring.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "net/system_clock.hpp"
#include "support/live_parts.hpp"

using namespace spotmesh;
using namespace spotmesh::host;

namespace {

struct Ring {
  explicit Ring(EventRing::Bounds bounds = {}) : events(log, clock, bounds) {}
  void say(const std::string& subject) {
    events.emit({.kind = "actor.created", .subject = subject, .fields = {{"type", "a\nb"}}});
  }
  static std::string subject_of(const std::string& row) {
    return nlohmann::json::parse(row).at("subject").get<std::string>();
  }

  testing::QuietLog log;
  net::SystemClock clock;
  EventRing events;
};

}  // namespace

TEST_CASE("events are numbered from 1 and told in order, in parts") {
  Ring ring;
  CHECK(ring.events.after(0, 10).rows.empty());
  CHECK(ring.events.last() == 0);
  for (const char* subject : {"a", "b", "c"}) ring.say(subject);
  auto part = ring.events.after(0, 2);
  CHECK(part.first == 1);
  CHECK(part.last == 2);
  part = ring.events.after(2, 2);
  REQUIRE(part.rows.size() == 1);
  CHECK(part.first == 3);
  CHECK(Ring::subject_of(part.rows[0]) == "c");
  CHECK(ring.events.after(3, 2).rows.empty());
  CHECK(ring.events.after(3, 2).last == 3);
  CHECK(ring.events.after(99, 2).rows.empty());
}

TEST_CASE("what was dropped at a bound shows as a gap in the numbers") {
  Ring few({.events = 2, .bytes = 1024 * 1024});
  for (const char* subject : {"a", "b", "c"}) few.say(subject);
  CHECK(few.events.after(0, 10).first == 2);
  Ring small({.events = 100, .bytes = 1000});
  for (int i = 0; i < 10; ++i) small.say(std::string(400, 'x'));
  const auto part = small.events.after(0, 100);
  CHECK(part.rows.size() == 1);
  CHECK(part.last == 10);
  // One that is too long by itself is kept until the next comes.
  small.say(std::string(5000, 'y'));
  CHECK(small.events.after(10, 100).rows.size() == 1);
}

TEST_CASE("who waits for an event is told once, at once if it is there already") {
  Ring ring;
  int told = 0;
  ring.events.when_after(0, [&] { ++told; });
  CHECK(told == 0);
  ring.say("a");
  CHECK(told == 1);
  ring.say("b");
  CHECK(told == 1);
  ring.events.when_after(0, [&] { ++told; });
  CHECK(told == 2);
  const auto waiter = ring.events.when_after(2, [&] { ++told; });
  ring.events.forget(waiter);
  ring.say("c");
  CHECK(told == 2);
}

TEST_CASE("the latest events about one subject are told, the oldest first") {
  Ring ring;
  for (int i = 0; i < 5; ++i) {
    ring.events.emit({.kind = "actor.bound",
                      .subject = i % 2 == 0 ? "ann" : "bob",
                      .fields = {{"session", std::to_string(i)}}});
  }
  const auto rows = ring.events.about("ann", 2);
  REQUIRE(rows.size() == 2);
  CHECK(nlohmann::json::parse(rows[0]).at("fields").at("session") == "2");
  CHECK(nlohmann::json::parse(rows[1]).at("fields").at("session") == "4");
}
