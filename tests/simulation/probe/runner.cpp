#include <fmt/format.h>

#include "game.hpp"

namespace probe {

using namespace spotmesh;
using namespace std::chrono_literals;

class Runner::Turn {
 public:
  Turn(Runner& runner, std::string_view what)
      : runner_(runner), stretch_(runner.ledger_, runner.gate(), what) {
    runner.ledger_.ready(runner.life());
    if (std::exchange(runner.is_busy_, true)) {
      runner.complain(fmt::format("{} began before the turn before it had ended", what));
    }
    runner.ledger_.runs(runner.life_);
    const auto spot = runner.context().spot_id();
    if (!spot || spot->text() != runner.spot_) {
      runner.complain(fmt::format("{} is in '{}', by the callbacks in '{}'", what,
                                  spot ? spot->text() : "", runner.spot_));
    }
    if (!runner.leaving_.empty()) {
      runner.complain(fmt::format("{} ran before '{}' had said good-bye", what, runner.leaving_));
    }
    if (runner.is_joining_) runner.complain(fmt::format("{} passed the barrier of a Join", what));
  }
  ~Turn() { runner_.is_busy_ = false; }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

  Ledger::Stretch& stretch() { return stretch_; }

 private:
  Runner& runner_;
  Ledger::Stretch stretch_;
};

Runner::Runner(ActorContext& context, Ledger& ledger)
    : Actor(context),
      ledger_(ledger),
      life_{context.actor_id().text(), context.object_generation().value},
      node_(context.node_rid().text) {
  ledger_.born(life_);
}

Runner::~Runner() { ledger_.died(life_); }

void Runner::handlers(ActorHandlers<Runner>& on) {
  on.send(&Runner::attach);
  on.send(&Runner::note);
  on.send(&Runner::word);
  on.request(&Runner::ask);
  on.request(&Runner::tell);
  on.request(&Runner::query);
  on.request(&Runner::answer);
  on.request(&Runner::enter);
  on.request(&Runner::leave);
  on.request(&Runner::tick);
  on.request(&Runner::announce);
  on.timer("pulse", &Runner::pulse);
}

void Runner::complain(std::string what) {
  ledger_.complain(fmt::format("'{}' at {}: {}", life_.id, node_, what));
}

std::string Runner::gate() const {
  // Members of the Entry Spot have gates of their own.
  const auto spot = context().spot_id();
  const bool shares = spot && spot->text().starts_with("room");
  return shares ? fmt::format("{} {}", node_, spot->text())
                : fmt::format("{} '{}' {:x}", node_, life_.id, life_.generation);
}

Task<void> Runner::idle(std::uint32_t delay_us) {
  // A worker takes some time, and so often makes the delay.
  for (std::uint32_t spent = 0; spent < delay_us; spent += 1'000) {
    if (auto slept = co_await context().run_cpu_worker([] {}).submit(); !slept) co_return;
  }
}

void Runner::attach(const Attach& attach) {
  const Turn turn(*this, "attach");
  connection_ = attach.connection;
  notes_ = 0;
  pushes_ = 0;
}

void Runner::note(const Note& note) {
  const Turn turn(*this, "note");
  if (note.connection != connection_) {
    return complain(
        fmt::format("a note of connection {} while {} is attached", note.connection, connection_));
  }
  if (note.number != notes_ + 1) {
    complain(fmt::format("note {} of connection {} came after note {}", note.number, connection_,
                         notes_));
  }
  notes_ = note.number;
  push_heard();
}

void Runner::push_heard() {
  if (context().bound_session().send(Heard{.connection = connection_, .number = pushes_ + 1})) {
    ++pushes_;
  }
}

void Runner::word(const Word& word) {
  const Turn turn(*this, "word");
  ledger_.received({word.sender, word.life}, life_, word.number);
}

Task<Answer> Runner::ask(const Ask& ask) {
  const Turn turn(*this, "ask");
  co_await idle(ask.delay_us);
  const Answer answer{.connection = connection_,
                      .notes = notes_,
                      .pushes = pushes_,
                      .ticks = static_cast<std::uint32_t>(ticks_)};
  push_heard();
  co_return answer;
}

Task<Told> Runner::tell(const Tell& tell) {
  const Turn turn(*this, "tell");
  co_await say_words(context(), ledger_, life_, tell.to, tell.count);
  co_return Told{};
}

void Runner::check_patience(std::string_view what, Instant begun, Duration patience) {
  constexpr Duration grace = 500ms;
  const Duration waited = context().now() - begun;
  if (ledger_.is_calm() && waited > patience + grace) {
    complain(fmt::format("{} ended after {} ms; it had {} ms", what, waited / 1ms, patience / 1ms));
  }
}

Task<Queried> Runner::query(const Query& query) {
  Turn turn(*this, "query");
  const Duration patience = std::chrono::microseconds(query.patience_us);
  const bool was_calm = ledger_.is_calm();
  const Instant begun = context().now();
  auto call = context()
                  .actors()
                  .request<Reply>(
                      query.to, Question{.left_us = query.patience_us, .delay_us = query.delay_us})
                  .timeout(patience);
  const bool gives_way = query.gives_way && gate().find("room") != std::string::npos;
  if (gives_way) turn.stretch().leave();
  const Result<Reply> reply = gives_way ? co_await call.yield() : co_await call.submit();
  if (gives_way) turn.stretch().enter();
  // Whoever has given the gate back waits besides for the one turn that has it meanwhile, and that
  // may be waiting for a creation or a resolve.
  const Duration others = gives_way ? limits::default_operation_timeout : Duration::zero();
  if (was_calm) check_patience("a query", begun, patience + others);
  if (!reply && !is_expected(reply.error())) {
    complain("a query ended with " + to_string(reply.error()));
  }
  co_return Queried{.was_answered = reply.has_value(),
                    .problem = reply ? std::string() : to_string(reply.error())};
}

Task<Result<Reply>> Runner::answer(const Question& question, const MessageContext& message) {
  const Turn turn(*this, "question");
  // Clocks differ in speed, and only that.
  const Duration given = std::chrono::microseconds(question.left_us);
  const Duration left = *message.deadline() - context().now();
  if (left > given + given / 1'000 + 1ms) {
    complain(fmt::format("a question that had {} us was given {} us", given / 1us, left / 1us));
  }
  co_await idle(question.delay_us);
  co_return Reply{};
}

Task<Result<Registered>> Runner::enter(const Enter& enter) {
  const Turn turn(*this, "enter");
  auto room = co_await context().spots().get_or_create(enter.room, room_type).submit();
  if (!room) co_return fail(room.error());
  auto joined = context().join_spot(enter.room, Knock{.mood = enter.mood}).defer();
  if (!joined) co_return fail(joined.error());
  is_joining_ = true;
  is_room_elsewhere_ = ledger_.is_calm() && ref_of(*room).node_rid.text != node_;
  co_return Registered{};
}

Result<Registered> Runner::leave(const Leave&) {
  const Turn turn(*this, "leave");
  auto left = context().join_entry_spot().defer();
  if (!left) return fail(left.error());
  is_joining_ = true;
  is_room_elsewhere_ = false;
  return Registered{};
}

Result<Ticking> Runner::tick(const Tick& tick) {
  const Turn turn(*this, "tick");
  if (tick.period_us == 0) {
    context().timers().cancel("pulse");
    is_ticking_ = false;
    return Ticking{};
  }
  period_ = std::chrono::microseconds(tick.period_us);
  if (auto started = context().timers().start("pulse", period_); !started) {
    return fail(started.error());
  }
  is_ticking_ = true;
  ticks_ = 0;
  last_tick_ = context().now();
  return Ticking{};
}

void Runner::pulse(const TimerTick& tick) {
  const Turn turn(*this, "pulse");
  if (!is_ticking_) complain("a tick of a timer that was cancelled");
  if (tick.delivery_index != ++ticks_) {
    complain(fmt::format("tick {} came as number {}", tick.delivery_index, ticks_));
  }
  const Duration gap = context().now() - last_tick_;
  if (gap < period_ / 2 && tick.skipped == 0 && tick.scheduled_index == 1) {
    complain("a first tick long before its time");
  }
  last_tick_ = context().now();
}

// What a Join says that cannot come about, since its room is on another node; unless that room has
// ended meanwhile.
void Runner::check_way(const Error& error) {
  switch (error.kind()) {
    case ErrorKind::Unavailable:
    case ErrorKind::NotFound:
    case ErrorKind::InvalidOperation:
    case ErrorKind::ShuttingDown:
      return;
    default:
      complain("a Join into a room of another node ended with " + to_string(error));
  }
}

Task<Announced> Runner::announce(const Announce& announce) {
  const Turn turn(*this, "announce");
  co_await publish_bulletins(context(), ledger_, life_, announce.topic, announce.count);
  co_return Announced{};
}

Task<void> Runner::on_join_completed(const JoinCompletion& completion) {
  if (!std::exchange(is_joining_, false)) complain("a Join ended that was not under way");
  const Turn turn(*this, "join completion");
  if (const auto* failed = std::get_if<JoinFailed>(&completion)) {
    const ErrorKind kind = failed->error.kind();
    if (is_room_elsewhere_) check_way(failed->error);
    if (!is_expected(failed->error) && kind != ErrorKind::InternalFailure &&
        kind != ErrorKind::Rejected) {
      complain("a Join ended with " + to_string(failed->error));
    }
  }
  co_return;
}

void Runner::has_been_created_in(const SpotId& spot) {
  if (is_busy_) complain("was created during a turn of its own");
  if (!spot_.empty()) complain("was created twice");
  spot_ = spot.text();
}

void Runner::has_joined(const SpotId& spot) {
  if (is_busy_) complain("joined during a turn of its own");
  if (!leaving_.empty()) complain("joined before '" + leaving_ + "' had said good-bye");
  if (spot_ == spot.text()) complain("joined '" + spot_ + "' twice");
  leaving_ = std::exchange(spot_, spot.text());
}

void Runner::has_left(const SpotId& spot) {
  if (is_busy_) complain("left during a turn of its own");
  // One that its node steps down from, after a store forgot it or because an operator says so,
  // leaves where it is.
  const bool may_step_down =
      ledger_.has_forgetful_store() || ledger_.is_ended_by_operator(life_.id);
  if (leaving_.empty() && spot_ == spot.text() && may_step_down) {
    spot_.clear();
    return;
  }
  if (leaving_ != spot.text()) {
    complain(fmt::format("left '{}' when it should leave '{}'", spot.text(), leaving_));
  }
  leaving_.clear();
}

void Runner::has_lost_its_client() {
  if (is_busy_) complain("lost its client during a turn of its own");
}

}  // namespace probe
