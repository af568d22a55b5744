// What is told of Actors, sessions and events, in sentences.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <string>

#include "cli/event_text.hpp"
#include "cli/lists.hpp"
#include "cli/shutdown.hpp"
#include "cli/why.hpp"

using namespace spotmesh;
using namespace spotmesh::cli;
using Catch::Matchers::Contains;
using nlohmann::json;

namespace {

std::string text_of(const Story& story) {
  std::string text;
  for (const auto& sentence : story.sentences) text += sentence + "\n";
  return text;
}

json mailbox(int messages, const json& turn = nullptr) {
  return {{"application", messages},
          {"control", 0},
          {"is_held", false},
          {"is_claimed", false},
          {"turn", turn}};
}

json turn(const std::string& what, int age_ms) { return {{"for", what}, {"age_ms", age_ms}}; }

json healthy_actor() {
  return {{"actor", "a\nb"},
          {"node", "one"},
          {"lease_ttl_ms", 15000},
          {"lease_margin_ms", 5000},
          {"record",
           {{"standing", "Ready"},
            {"type", "player"},
            {"mesh", "play"},
            {"object_generation", "7"},
            {"owner_generation", "1"},
            {"takeover_count", "0"},
            {"owner", {{"node", "two"}, {"lease_generation", "3"}}}}},
          {"owner",
           {{"node", "two"},
            {"is_self", false},
            {"is_known", true},
            {"is_reachable", true},
            {"state", "Serving"},
            {"address", "10.0.0.2:1"},
            {"verdict", "Alive"}}},
          {"report",
           {{"actor",
             {{"id", "a\nb"},
              {"state", "Ready"},
              {"is_in_transition", false},
              {"spot", {{"id", "den"}, {"type", "room"}}},
              {"binding", nullptr},
              {"mailbox", mailbox(0)}}},
            {"lease", {{"is_admitted", true}, {"left_ms", 8500}}},
            {"spot", {{"execution", "SpotWide"}, {"members", 2}, {"mailbox", mailbox(0)}}},
            {"running_members", json::array()},
            {"waits_for", json::array()},
            {"recent", json::array()}}},
          {"report_reason", nullptr},
          {"session", nullptr}};
}

}  // namespace

TEST_CASE("an Actor that is well is told whole: owner, lease, place, queue and session") {
  const Story story = actor_story(healthy_actor());
  CHECK(story.is_whole);
  const std::string text = text_of(story);
  CHECK_THAT(text, Contains(R"(Actor "a\nb" is of type player in mesh play, incarnation 7)"));
  CHECK_THAT(text, Contains("owned by node two (Serving, lease generation 3)"));
  CHECK_THAT(text, Contains("its lease is alive"));
  CHECK_THAT(text, Contains("another 8.5 s"));
  CHECK_THAT(text, Contains("Ready in Spot den (room, SpotWide, 2 members)"));
  CHECK_THAT(text, Contains("Nothing waits in its mailbox."));
  CHECK_THAT(text, Contains("No client session is bound to it."));
}

TEST_CASE("an Actor that is stuck is told with what runs, what waits, and for whom it waits") {
  json document = healthy_actor();
  document["report"]["actor"]["mailbox"] = mailbox(3);
  document["report"]["running_members"] = {
      {{"id", "bob"}, {"mailbox", mailbox(0, turn("game.Think", 61000))}}};
  document["report"]["waits_for"] = {"request 'game.Ask' to Actor 'eve'"};
  const std::string text = text_of(actor_story(document));
  CHECK_THAT(text, Contains("3 messages wait"));
  CHECK_THAT(text, Contains("Actor bob shares its gate, and has a turn for game.Think that began "
                            "61.0 s ago."));
  CHECK_THAT(text, Contains("It waits for the reply to its request 'game.Ask' to Actor 'eve'."));
}

TEST_CASE("an Actor whose owner is away is told with the reason, and what comes of it") {
  json document = healthy_actor();
  document["report"] = nullptr;
  document["report_reason"] = "node two has not answered in time";
  document["record"]["standing"] = "Silent";
  document["owner"]["verdict"] = "Silent";
  Story story = actor_story(document);
  CHECK_FALSE(story.is_whole);
  CHECK_THAT(text_of(story), Contains("has stood still for 20.0 s, the id can be created again") &&
                                 Contains("node two has not answered in time"));
  document["record"]["standing"] = "OwnerLost";
  document["owner"]["is_known"] = false;
  story = actor_story(document);
  CHECK_THAT(text_of(story), Contains("gone for good") && Contains("knows nothing any more"));
}

TEST_CASE("an Actor that is not there, and a store that is away, are told as what they are") {
  const json missing{{"actor", "x"}, {"record", {{"standing", "Missing"}}}, {"report", nullptr}};
  CHECK_FALSE(actor_story(missing).is_whole);
  CHECK_THAT(text_of(actor_story(missing)), Contains("has no Actor x"));
  const json away{{"actor", "x"}, {"record", nullptr}, {"record_error", "the store is away"}};
  CHECK_FALSE(actor_story(away).is_whole);
  CHECK_THAT(text_of(actor_story(away)), Contains("cannot be had: the store is away"));
}

TEST_CASE("an answer of another version is told as far as it goes") {
  CHECK_NOTHROW(actor_story(json::object()));
  CHECK_NOTHROW(actor_story({{"record", 7}, {"report", {{"actor", "text"}}}}));
  CHECK_NOTHROW(session_story({{"row", {{"actors", 3}}}}));
  CHECK(event_line({{"type", "of the future"}}).empty());
  CHECK_NOTHROW(cells_of(List::Actors, json::array()));
  CHECK_NOTHROW(node_cells("text"));
}

TEST_CASE("a session is told with its traffic and with what its Actors say of it") {
  const json document{
      {"session", "aa"},
      {"row",
       {{"id", "aa"},
        {"node", "one"},
        {"type", "gateway"},
        {"state", "Open"},
        {"remote_address", "10.1.1.1:5"},
        {"queued_packets", 2},
        {"unanswered_requests", 1},
        {"unsent_bytes", 4096},
        {"actors", {{{"id", "ann"}}, {{"id", "bob"}}}}}},
      {"unanswered", json::array()},
      {"actors",
       {{{"id", "ann"},
         {"node", "two"},
         {"row", {{"state", "Ready"}, {"binding", {{"session", "aa"}}}, {"mailbox", mailbox(1)}}}},
        {{"id", "bob"},
         {"node", "two"},
         {"row", {{"state", "Ready"}, {"binding", nullptr}, {"mailbox", mailbox(0)}}}}}}};
  const std::string text = text_of(session_story(document));
  CHECK_THAT(text, Contains("2 packets of the client wait"));
  CHECK_THAT(text, Contains("1 requests of the client have no answer yet"));
  CHECK_THAT(text, Contains("4096 bytes wait for the client to read"));
  CHECK_THAT(text, Contains("bound to Actor ann on node two, which is Ready"));
  CHECK_THAT(text, Contains("bound to Actor bob on node two, but that one has no session"));
}

TEST_CASE("a session that nobody has is no success, and names who was not asked") {
  const json document{{"session", "aa"},
                      {"row", nullptr},
                      {"unanswered", {{{"node", "two"}, {"reason", "it is away"}}}},
                      {"actors", json::array()}};
  const Story story = session_story(document);
  CHECK_FALSE(story.is_whole);
  CHECK_THAT(text_of(story),
             Contains("Node two could not be asked: it is away") && Contains("no session aa"));
}

TEST_CASE("an event is one line, whatever ids are in it") {
  const json message{{"type", "event"},
                     {"number", 4},
                     {"node", "one"},
                     {"event",
                      {{"time", "2026-11-30T14:00:01.250Z"},
                       {"kind", "actor.joined"},
                       {"subject", "a\nb"},
                       {"fields", {{"spot", "x y"}}}}}};
  CHECK(event_line(message) == R"(2026-11-30T14:00:01.250Z one actor.joined "a\nb" spot="x y")");
  CHECK(event_line({{"type", "gap"}, {"node", "one"}, {"missed", 12}}) ==
        "gap: 12 events of node one are lost to this watcher");
}

TEST_CASE("a node is meant by its id, or by a beginning that no other has") {
  const std::vector<std::string> nodes{"game-1", "game-12", "lobby-3"};
  CHECK(node_meant("lobby", nodes) == "lobby-3");
  CHECK(node_meant("game-1", nodes) == "game-1");
  const auto several = node_meant("game", nodes);
  REQUIRE_FALSE(several.has_value());
  CHECK_THAT(several.error().message(), Contains("any of game-1, game-12"));
  const auto none = node_meant("den", nodes);
  REQUIRE_FALSE(none.has_value());
  CHECK_THAT(none.error().message(), Contains("there are game-1, game-12, lobby-3"));
}

TEST_CASE("a node that has not answered shows what it said last, with a question mark") {
  const json row{{"node", "one"}, {"is_self", false}, {"has_answered", false}, {"state", "Serving"},
                 {"version", ""}, {"address", "a:1"}, {"sessions", nullptr}};
  const auto cells = node_cells(row);
  CHECK(cells[1] == "Serving?");
  CHECK(cells.back() == "-");
}
