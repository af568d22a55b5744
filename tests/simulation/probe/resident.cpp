// What a resident does at random; how he concludes is in conclusion.cpp.
#include "resident.hpp"

#include <array>

#include <fmt/format.h>

#include "game.hpp"
#include "resident_watch.hpp"

namespace probe {

using namespace spotmesh;
using namespace std::chrono_literals;

namespace {

constexpr std::size_t most_unfinished = 4;
constexpr std::size_t most_remembered = 12;
constexpr unsigned most_rooms = 12;  // under ids that the runtime issues

}  // namespace

Resident::Resident(testing::Cluster& cluster, Ledger& ledger, const Customs& customs,
                   std::uint64_t seed, unsigned number)
    : cluster_(cluster),
      ledger_(ledger),
      customs_(customs),
      chance_(seed, fmt::format("resident {}", number)),
      name_(fmt::format("resident {}", number)),
      node_(number % cluster.nodes()),
      life_{name_, 0} {}

void Resident::begin() { later(chance_.between(0ms, 200ms), &Resident::act); }

void Resident::later(Duration delay, Job job) {
  cluster_.after(delay, [this, job] { (this->*job)(); });
}

void Resident::complain(const std::string& what) {
  ledger_.complain(fmt::format("{} at node {}: {}", name_, node_, what));
}

void Resident::look_around() {
  if (!caller_ || !caller_->is_gone()) return;
  ledger_.died(life_);
  caller_.reset();
}

bool Resident::is_present() {
  look_around();
  if (caller_) return true;
  if (!cluster_.is_serving(node_)) return false;
  auto caller = cluster_.caller(node_);
  if (!caller) return false;
  caller_.emplace(*std::move(caller));
  ++life_.generation;
  ledger_.born(life_);
  return true;
}

const std::string& Resident::somebody() {
  return customs_.names[chance_.below(customs_.names.size())];
}
const std::string& Resident::some_room() {
  return customs_.rooms[chance_.below(customs_.rooms.size())];
}
std::string Resident::some_topic() { return std::string(chance_.one_in(2) ? news : gossip); }

void Resident::remember(const ActorRef& actor, const Watch& watch) {
  ledger_.found({actor.actor_id.text(), actor.object_generation.value}, watch.begun());
  if (actors_.size() < most_remembered) return actors_.push_back(actor);
  actors_[chance_.below(actors_.size())] = actor;
}

void Resident::remember(const SpotRef& spot, const Watch& watch) {
  ledger_.found({spot.spot_id.text(), spot.object_generation.value}, watch.begun());
  if (spots_.size() < most_remembered) return spots_.push_back(spot);
  spots_[chance_.below(spots_.size())] = spot;
}

template <typename Ref>
std::optional<Ref> Resident::recall(const std::vector<Ref>& known) {
  if (known.empty()) return std::nullopt;
  Ref ref = known[chance_.below(known.size())];
  if (chance_.one_in(3)) ref.node_rid = known[chance_.below(known.size())].node_rid;
  return ref;
}

void Resident::act() {
  if (is_resting_) return;
  if (is_present() && caller_->unfinished() < most_unfinished) {
    static constexpr std::array<Job, 20> jobs = {
        &Resident::make_runner, &Resident::make_runner, &Resident::make_runner,
        &Resident::make_room,   &Resident::look_for,    &Resident::say,
        &Resident::say,         &Resident::say,         &Resident::have_say,
        &Resident::have_say,    &Resident::ask,         &Resident::ask,
        &Resident::have_ask,    &Resident::have_ask,    &Resident::have_move,
        &Resident::have_tick,   &Resident::end_runner,  &Resident::close_room,
        &Resident::publish,     &Resident::have_publish};
    (this->*jobs[chance_.below(jobs.size())])();
  }
  later(chance_.between(10ms, customs_.longest_pause), &Resident::act);
}

void Resident::make_runner() {
  caller_->run(
      [this, name = somebody(), accepts = chance_.one_in(2)](Context& context) -> Task<void> {
        const Watch watch(ledger_, name_, "a creation");
        auto call = accepts ? context.actors().get_or_create(name, runner_type)
                            : context.actors().create(name, runner_type);
        const auto made = co_await call.submit();
        watch.check(made, accepts ? std::nullopt : std::optional(ErrorKind::AlreadyExists));
        if (made) remember(ref_of(*made), watch);
      });
}

void Resident::make_room() {
  const bool is_named = rooms_made_ >= most_rooms || !chance_.one_in(3);
  if (!is_named) ++rooms_made_;
  caller_->run([this, is_named, name = some_room()](Context& context) -> Task<void> {
    const Watch watch(ledger_, name_, "the creation of a room");
    auto call = is_named ? context.spots().get_or_create(name, room_type)
                         : context.spots().create(room_type);
    const auto made = co_await call.submit();
    watch.check(made);
    if (made) remember(ref_of(*made), watch);
  });
}

void Resident::look_for() {
  caller_->run([this, name = somebody()](Context& context) -> Task<void> {
    const Watch watch(ledger_, name_, "a search");
    const auto found = co_await context.actors().find(name);
    watch.check(found);
    if (found && *found) remember(**found, watch);
    const Watch second(ledger_, name_, "a search for somebody's Spot");
    second.check(co_await context.actors().find_spot(name));
  });
}

void Resident::say() {
  const auto count = static_cast<std::uint32_t>(1 + chance_.below(4));
  caller_->run([this, name = somebody(), count](Context& context) {
    return say_words(context, ledger_, life_, name, count);
  });
}

void Resident::have_say() {
  const Tell tell{.to = somebody(), .count = static_cast<std::uint32_t>(1 + chance_.below(4))};
  caller_->run([this, name = somebody(), tell](Context& context) -> Task<void> {
    const Watch watch(ledger_, name_, "a wish to tell");
    watch.check(co_await context.actors().request<Told>(name, tell).submit());
  });
}

void Resident::ask() {
  const auto patience_us = static_cast<std::uint32_t>(1'000 + chance_.below(2'000'000));
  const Question question{.left_us = patience_us,
                          .delay_us = static_cast<std::uint32_t>(chance_.below(20'000))};
  caller_->run([this, name = somebody(), question](Context& context) -> Task<void> {
    const Duration patience = std::chrono::microseconds(question.left_us);
    const Watch watch(ledger_, name_, "a question", patience);
    watch.check(
        co_await context.actors().request<Reply>(name, question).timeout(patience).submit());
  });
}

void Resident::have_ask() {
  const Query query{.to = somebody(),
                    .patience_us = static_cast<std::uint32_t>(1'000 + chance_.below(400'000)),
                    .delay_us = static_cast<std::uint32_t>(chance_.below(8'000)),
                    .gives_way = chance_.one_in(2)};
  caller_->run([this, name = somebody(), query](Context& context) -> Task<void> {
    const Watch watch(ledger_, name_, "a wish to ask");
    watch.check(co_await context.actors().request<Queried>(name, query).submit());
  });
}

void Resident::have_move() {
  if (!customs_.moves) return;
  const bool leaves = chance_.one_in(3);
  const Enter enter{.room = some_room(),
                    .mood = static_cast<std::uint8_t>(chance_.one_in(2) ? 0 : chance_.below(4))};
  caller_->run([this, name = somebody(), leaves, enter](Context& context) -> Task<void> {
    const Watch watch(ledger_, name_, "a wish to move");
    auto call = leaves ? context.actors().request<Registered>(name, Leave{})
                       : context.actors().request<Registered>(name, enter);
    watch.check(co_await call.submit());
  });
}

void Resident::have_tick() {
  const bool stops = chance_.one_in(2);
  const Tick tick{.period_us =
                      stops ? 0 : static_cast<std::uint32_t>(20'000 + chance_.below(900'000))};
  caller_->run([this, name = somebody(), tick](Context& context) -> Task<void> {
    const Watch watch(ledger_, name_, "a wish to tick");
    watch.check(co_await context.actors().request<Ticking>(name, tick).submit());
  });
}

void Resident::end_runner() {
  const auto ref = recall(actors_);
  if (!customs_.ends || !ref) return;
  caller_->run([this, ref = *ref](Context& context) -> Task<void> {
    const Watch watch(ledger_, name_, "the end of an Actor");
    const auto ended = co_await context.actors().destroy(ref);
    watch.check(ended);
    if (ended) ledger_.gone({ref.actor_id.text(), ref.object_generation.value});
  });
}

void Resident::close_room() {
  const auto ref = recall(spots_);
  if (!customs_.ends || !ref) return;
  caller_->run([this, ref = *ref](Context& context) -> Task<void> {
    const Watch watch(ledger_, name_, "the end of a room");
    const auto closed = co_await context.spots().close(ref);
    watch.check(closed);
    // False is said, too, of one that has members.
    if (closed && *closed) ledger_.gone({ref.spot_id.text(), ref.object_generation.value});
  });
}

void Resident::publish() {
  if (!customs_.publishes) return;
  const auto count = static_cast<std::uint32_t>(1 + chance_.below(3));
  caller_->run([this, topic = some_topic(), count](Context& context) {
    return publish_bulletins(context, ledger_, life_, topic, count);
  });
}

void Resident::have_publish() {
  if (!customs_.publishes) return;
  const Announce announce{.topic = some_topic(),
                          .count = static_cast<std::uint32_t>(1 + chance_.below(3))};
  caller_->run([this, name = somebody(), announce](Context& context) -> Task<void> {
    const Watch watch(ledger_, name_, "a wish to publish");
    watch.check(co_await context.actors().request<Announced>(name, announce).submit());
  });
}

}  // namespace probe
