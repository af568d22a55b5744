// How a resident sees to it, once nothing fails any more, that everything works.
#include <fmt/format.h>

#include "game.hpp"
#include "resident.hpp"
#include "resident_watch.hpp"

namespace probe {

using namespace spotmesh;
using namespace std::chrono_literals;

namespace {

// An owner that has died is waited for; an operation of the store may be on its way for a minute.
constexpr unsigned most_tries = 150;
constexpr Duration pause = 500ms;
constexpr Duration patience = 2s;

}  // namespace

void Resident::conclude() { take_step(); }

void Resident::take_step() {
  if (step_ > customs_.names.size() * 2 + customs_.rooms.size()) {
    has_concluded_ = true;
    return;
  }
  if (!is_present()) return later(pause, &Resident::take_step);
  caller_->run([this](Context& context) -> Task<void> {
    const auto done = co_await perform(step_, context);
    if (!done && ++tries_ < most_tries) co_return later(pause, &Resident::take_step);
    if (!done) {
      complain(fmt::format("step {} does not succeed: {}", step_, to_string(done.error())));
    }
    ++step_;
    tries_ = 0;
    later(0ms, &Resident::take_step);
  });
}

Task<Result<void>> Resident::perform(std::size_t step, Context& context) {
  const std::size_t names = customs_.names.size();
  if (step < names) co_return co_await meet(customs_.names[step], context);
  step -= names;
  if (step < customs_.rooms.size()) co_return co_await visit(customs_.rooms[step], context);
  step -= customs_.rooms.size();
  if (step < names) co_return co_await talk(customs_.names[step], context);
  co_await publish_bulletins(context, ledger_, life_, std::string(news), 2);
  co_await publish_bulletins(context, ledger_, life_, std::string(gossip), 2);
  co_return Result<void>{};
}

Task<Result<void>> Resident::meet(std::string name, Context& context) {
  const Watch watch(ledger_, name_, "a last creation");
  const auto made = co_await context.actors().get_or_create(name, runner_type).submit();
  watch.check(made);
  if (!made) co_return fail(made.error());
  remember(ref_of(*made), watch);
  co_return Result<void>{};
}

Task<Result<void>> Resident::visit(std::string room, Context& context) {
  const Watch watch(ledger_, name_, "the last creation of a room");
  const auto made = co_await context.spots().get_or_create(room, room_type).submit();
  watch.check(made);
  if (!made) co_return fail(made.error());
  remember(ref_of(*made), watch);
  const auto counted =
      co_await context.spots().request<Counted>(room, Headcount{}).timeout(patience).submit();
  if (!counted) co_return fail(counted.error());
  co_return Result<void>{};
}

Task<Result<void>> Resident::talk(std::string name, Context& context) {
  // An end that was begun during the trouble may have come only now.
  if (auto met = co_await meet(name, context); !met) co_return met;
  co_await say_words(context, ledger_, life_, name, 3);
  const Watch watch(ledger_, name_, "a last question", patience);
  const Question question{.left_us = static_cast<std::uint64_t>(patience / 1us), .delay_us = 0};
  const auto reply =
      co_await context.actors().request<Reply>(name, question).timeout(patience).submit();
  watch.check(reply);
  if (!reply) co_return fail(reply.error());
  // It has one of the others asked, wherever both of them are.
  const Query query{.to = somebody(), .patience_us = 400'000, .delay_us = 0, .gives_way = false};
  const bool is_of_itself = query.to == name;
  const auto queried =
      co_await context.actors().request<Queried>(name, query).timeout(patience).submit();
  if (!queried) co_return fail(queried.error());
  if (is_of_itself && queried->was_answered) {
    complain("an Actor has answered itself during its own turn");
  }
  co_return Result<void>{};
}

}  // namespace probe
