#include <algorithm>
#include <stdexcept>
#include <variant>

#include <fmt/format.h>

#include "game.hpp"

namespace probe {

using namespace spotmesh;

static Life life_of(const SpotContext& context) {
  return {context.spot_id().text(), context.object_generation().value};
}

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

Plaza::Plaza(SpotContext& context, Ledger& ledger)
    : Hall(context), ledger_(ledger), life_(life_of(context)) {
  ledger_.born(life_);
  // Its node does not serve before it is, and peace begins later.
  ledger_.ready(life_);
  ledger_.bulletins().subscribes(life_, news);
}

Plaza::~Plaza() { ledger_.died(life_); }

void Plaza::handlers(Handlers<Plaza>& on) { on.subscribe(channel, news, &Plaza::hear); }

void Plaza::hear(const Bulletin& bulletin) {
  ledger_.bulletins().heard(life_, {bulletin.sender, bulletin.life}, bulletin.topic,
                            bulletin.number);
}

Room::Room(SpotContext& context, Ledger& ledger)
    : UserSpot(context), ledger_(ledger), life_(life_of(context)) {
  ledger_.born(life_);
}

Room::~Room() { ledger_.died(life_); }

void Room::handlers(Handlers<Room>& on) { on.request(&Room::count); }

Ledger::Stretch Room::stretch(std::string_view what) {
  ledger_.runs(life_);
  return {ledger_, gate(), what};
}

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
  const Ledger::Stretch present = stretch("on_create");
  (void)context().close_when_empty();
  co_return CreateDecision::accept();
}

Task<JoinDecision> Room::on_actor_join(std::string_view, const Message& request) {
  const Ledger::Stretch present = stretch("on_actor_join");
  check_members();
  const auto knock = request.decode<Knock>();
  const Mood mood = knock ? static_cast<Mood>(knock->mood) : Mood::Welcoming;
  if (mood == Mood::Slow) (void)co_await context().run_io_worker([] {}).submit();
  if (mood == Mood::Throwing) throw std::runtime_error("not today");
  co_return mood == Mood::Rejecting ? JoinDecision::reject() : JoinDecision::accept();
}

Task<void> Room::on_joined_actor(Runner& runner) {
  const Ledger::Stretch present = stretch("on_joined_actor");
  if (has_closed_) ledger_.complain(gate() + " was joined after it had closed");
  inside_.push_back(runner.life());
  check_members();
  runner.has_joined(context().spot_id());
  co_return;
}

Task<void> Room::on_leave_actor(Runner& runner) {
  const Ledger::Stretch present = stretch("on_leave_actor");
  std::erase(inside_, runner.life());
  runner.has_left(context().spot_id());
  co_return;
}

Task<void> Room::on_disconnect_actor(Runner& runner) {
  const Ledger::Stretch present = stretch("on_disconnect_actor");
  runner.has_lost_its_client();
  co_return;
}

Task<void> Room::on_closing(ClosingReason reason, Instant) {
  const Ledger::Stretch present = stretch("on_closing");
  if (std::exchange(has_closed_, true)) ledger_.complain(gate() + " closed twice");
  if (reason != ClosingReason::Shutdown && !inside_.empty()) {
    ledger_.complain(fmt::format("{} closes with {} members", gate(), inside_.size()));
  }
  co_return;
}

Counted Room::count(const Headcount&) {
  const Ledger::Stretch present = stretch("headcount");
  check_members();
  return {.members = static_cast<std::uint32_t>(context().member_count())};
}

Club::Club(SpotContext& context, Ledger& ledger) : Room(context, ledger) {
  ledger_.bulletins().subscribes(life_, news);
  ledger_.bulletins().subscribes(life_, gossip);
}

void Club::handlers(Handlers<Club>& on) {
  on.request(&Room::count);
  on.subscribe(channel, news, &Club::hear);
  on.subscribe(channel, gossip, &Club::hear);
}

Task<CreateDecision> Club::on_create(const Message&) {
  const Ledger::Stretch present = stretch("on_create");
  co_return CreateDecision::accept();
}

void Club::hear(const Bulletin& bulletin) {
  const Ledger::Stretch present = stretch("hear");
  ledger_.bulletins().heard(life_, {bulletin.sender, bulletin.life}, bulletin.topic,
                            bulletin.number);
}

void Link::handlers(SessionHandlers<Link>& on) {
  on.request(&Link::log_in);
  on.request(&Link::quit);
}

Task<Result<LoggedIn>> Link::log_in(const LogIn& log_in) {
  auto made = co_await context().actors().get_or_create(log_in.name, runner_type).submit();
  if (!made) co_return fail(made.error());
  if (auto bound = co_await context().bind(ref_of(*made)); !bound) co_return fail(bound.error());
  co_return LoggedIn{.is_new = std::holds_alternative<Created>(*made)};
}

Task<Result<HasQuit>> Link::quit(const Quit& quit) {
  auto found = co_await context().actors().find(quit.name);
  if (!found) co_return fail(found.error());
  if (!*found) co_return HasQuit{.was_living = false};
  auto ended = co_await context().actors().destroy(**found);
  if (!ended) co_return fail(ended.error());
  co_return HasQuit{.was_living = *ended};
}

// What both games have in common; the Spots are the caller's.
static ObjectServer& add_play(Application& app, Ledger& ledger, GameLimits limits) {
  app.packets(packets());
  auto& play = app.mesh("play").object_server();
  if (limits.actors != 0) play.actor_limit(limits.actors);
  if (limits.spots != 0) play.spot_limit(limits.spots);
  play.placement_weight(limits.weight);
  play.actor<Runner>(runner_type, [&ledger](auto& factory) {
    factory.recreate_on_relocation().create_with(
        [&ledger](ActorContext& context) { return std::make_unique<Runner>(context, ledger); });
  });
  return play;
}

template <typename Place>
static void add_rooms(ObjectServer& play, Ledger& ledger) {
  play.user_spot<Place>(room_type, [&ledger](auto& factory) {
    factory.disable_relocation().create_with(
        [&ledger](SpotContext& context) { return std::make_unique<Place>(context, ledger); });
  });
}

void configure(Application& app, Ledger& ledger, GameLimits limits) {
  ObjectServer& play = add_play(app, ledger, limits);
  play.entry_spot<Hall>();
  add_rooms<Room>(play, ledger);
  app.stream("gateway").session<Link>();
}

void configure_apart(Application& app, Ledger& ledger, GameLimits limits) {
  ObjectServer& play = add_play(app, ledger, limits);
  play.entry_spot<Plaza>([&ledger](auto& factory) {
    factory.create_with(
        [&ledger](SpotContext& context) { return std::make_unique<Plaza>(context, ledger); });
  });
  add_rooms<Club>(play, ledger);
}

}  // namespace probe
