#include <algorithm>
#include <stdexcept>
#include <variant>

#include <fmt/format.h>

#include "game.hpp"

namespace probe {

using namespace spotmesh;

Task<CreateDecision> Hall::on_create_actor(Runner& runner, const Message&) {
  runner.has_been_created_in(context().spot_id());
  co_return CreateDecision::accept();
}

Task<void> Hall::on_joined_actor(Runner& runner) {
  runner.has_joined(context().spot_id());
  co_return;
}

Task<void> Hall::on_leave_actor(Runner& runner) {
  runner.has_left(context().spot_id());
  co_return;
}

Task<void> Hall::on_disconnect_actor(Runner& runner) {
  runner.has_lost_its_client();
  co_return;
}

void Room::handlers(Handlers<Room>& on) { on.request(&Room::count); }

std::string Room::gate() const {
  return fmt::format("{} {}", context().node_rid().text, context().spot_id().text());
}

// The framework's list against what the callbacks have said. Who is about to go is in no list any
// more before he has said good-bye.
void Room::check_members() {
  for (Runner* runner : context().members<Runner>()) {
    if (std::ranges::find(inside_, runner->life()) == inside_.end()) {
      ledger_.complain(fmt::format("{} lists '{}', who has not joined", gate(), runner->life().id));
    }
  }
}

Task<CreateDecision> Room::on_create(const Message&) {
  const Ledger::Stretch stretch(ledger_, gate(), "on_create");
  (void)context().close_when_empty();
  co_return CreateDecision::accept();
}

Task<JoinDecision> Room::on_actor_join(std::string_view, const Message& request) {
  const Ledger::Stretch stretch(ledger_, gate(), "on_actor_join");
  check_members();
  const auto knock = request.decode<Knock>();
  const Mood mood = knock ? static_cast<Mood>(knock->mood) : Mood::Welcoming;
  if (mood == Mood::Slow) (void)co_await context().run_io_worker([] {}).submit();
  if (mood == Mood::Throwing) throw std::runtime_error("not today");
  co_return mood == Mood::Rejecting ? JoinDecision::reject() : JoinDecision::accept();
}

Task<void> Room::on_joined_actor(Runner& runner) {
  const Ledger::Stretch stretch(ledger_, gate(), "on_joined_actor");
  if (has_closed_) ledger_.complain(gate() + " was joined after it had closed");
  inside_.push_back(runner.life());
  check_members();
  runner.has_joined(context().spot_id());
  co_return;
}

Task<void> Room::on_leave_actor(Runner& runner) {
  const Ledger::Stretch stretch(ledger_, gate(), "on_leave_actor");
  std::erase(inside_, runner.life());
  runner.has_left(context().spot_id());
  co_return;
}

Task<void> Room::on_disconnect_actor(Runner& runner) {
  const Ledger::Stretch stretch(ledger_, gate(), "on_disconnect_actor");
  runner.has_lost_its_client();
  co_return;
}

Task<void> Room::on_closing(ClosingReason reason, Instant) {
  const Ledger::Stretch stretch(ledger_, gate(), "on_closing");
  if (std::exchange(has_closed_, true)) ledger_.complain(gate() + " closed twice");
  // An Actor that its node has stepped down from, after a store forgot it, is gone without a word.
  std::erase_if(inside_, [this](const Life& life) { return !ledger_.is_living(life); });
  if (reason != ClosingReason::Shutdown && !inside_.empty()) {
    ledger_.complain(fmt::format("{} closes with {} members", gate(), inside_.size()));
  }
  co_return;
}

Counted Room::count(const Headcount&) {
  const Ledger::Stretch stretch(ledger_, gate(), "headcount");
  check_members();
  return {.members = static_cast<std::uint32_t>(context().member_count())};
}

void Link::handlers(SessionHandlers<Link>& on) {
  on.request(&Link::log_in);
  on.request(&Link::quit);
}

Task<Result<LoggedIn>> Link::log_in(const LogIn& log_in) {
  auto made = co_await context().actors().get_or_create(log_in.name, runner_type).submit();
  if (!made) co_return fail(made.error());
  const auto* created = std::get_if<Created>(&*made);
  const ActorRef& ref = created != nullptr ? created->actor : std::get<Existing>(*made).actor;
  if (auto bound = co_await context().bind(ref); !bound) co_return fail(bound.error());
  co_return LoggedIn{.is_new = created != nullptr};
}

Task<Result<HasQuit>> Link::quit(const Quit& quit) {
  auto found = co_await context().actors().find(quit.name);
  if (!found) co_return fail(found.error());
  if (!*found) co_return HasQuit{.was_living = false};
  auto ended = co_await context().actors().destroy(**found);
  if (!ended) co_return fail(ended.error());
  co_return HasQuit{.was_living = *ended};
}

void configure(Application& app, Ledger& ledger, GameLimits limits) {
  app.packets(packets());
  auto& play = app.mesh("play").object_server();
  if (limits.actors != 0) play.actor_limit(limits.actors);
  if (limits.spots != 0) play.spot_limit(limits.spots);
  play.entry_spot<Hall>();
  play.actor<Runner>(runner_type, [&ledger](auto& factory) {
    factory.recreate_on_relocation().create_with(
        [&ledger](ActorContext& context) { return std::make_unique<Runner>(context, ledger); });
  });
  play.user_spot<Room>(room_type, [&ledger](auto& factory) {
    factory.disable_relocation().create_with(
        [&ledger](SpotContext& context) { return std::make_unique<Room>(context, ledger); });
  });
  app.stream("gateway").session<Link>();
}

}  // namespace probe
