#include <catch2/catch.hpp>
#include <functional>
#include <string>
#include <vector>

#include "stream/session_life.hpp"

using namespace spotmesh::stream;

namespace {

using Event = bool (SessionLife::*)();

struct Row {
  SessionState from;
  Event event;
  SessionState to;
};

SessionLife life_in(SessionState state) {
  SessionLife life;
  switch (state) {
    case SessionState::Open:
      break;
    case SessionState::Replaced:
      life.replace();
      break;
    case SessionState::Closing:
      life.close();
      break;
    case SessionState::Lost:
      life.lose_link();
      break;
    case SessionState::Draining:
      life.close();
      life.finish_disconnect();
      break;
    case SessionState::Gone:
      life.lose_link();
      life.finish_disconnect();
      break;
  }
  return life;
}

}  // namespace

TEST_CASE("a session's life is the table of sessions.md, and nothing else moves it") {
  using S = SessionState;
  const std::vector<Row> table = {
      {S::Open, &SessionLife::replace, S::Replaced},
      {S::Open, &SessionLife::close, S::Closing},
      {S::Open, &SessionLife::lose_link, S::Lost},
      {S::Replaced, &SessionLife::close, S::Closing},
      {S::Replaced, &SessionLife::lose_link, S::Lost},
      {S::Closing, &SessionLife::lose_link, S::Lost},
      {S::Closing, &SessionLife::finish_disconnect, S::Draining},
      {S::Lost, &SessionLife::finish_disconnect, S::Gone},
      {S::Draining, &SessionLife::lose_link, S::Gone},
  };
  for (const S from : {S::Open, S::Replaced, S::Closing, S::Lost, S::Draining, S::Gone}) {
    for (const Event event : {&SessionLife::replace, &SessionLife::close, &SessionLife::lose_link,
                              &SessionLife::finish_disconnect}) {
      S expected = from;
      for (const Row& row : table) {
        if (row.from == from && row.event == event) expected = row.to;
      }
      SessionLife life = life_in(from);
      REQUIRE(life.state() == from);
      const bool has_changed = (life.*event)();
      INFO("from " << to_string(from));
      CHECK(life.state() == expected);
      CHECK(has_changed == (expected != from));
    }
  }
}
