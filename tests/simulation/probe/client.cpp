#include "client.hpp"

#include <array>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include "game.hpp"

namespace probe {

using namespace spotmesh;
using namespace std::chrono_literals;

namespace {

// A client that is not answered for so long gives its connection up.
constexpr Duration patience = 25s;
constexpr unsigned most_waiting = 6;

}  // namespace

Client::Client(testing::Cluster& cluster, Ledger& ledger, const Habits& habits, std::uint64_t seed,
               unsigned number)
    : cluster_(cluster),
      ledger_(ledger),
      habits_(habits),
      chance_(seed, fmt::format("client {}", number)),
      number_(number),
      name_(habits.names[number % habits.names.size()]) {}

void Client::begin() {
  node_ = static_cast<unsigned>(chance_.below(cluster_.nodes()));
  later(chance_.between(0ms, 200ms), &Client::connect);
}

void Client::later(Duration delay, Job job) {
  cluster_.after(delay, [this, life = life_, job] {
    if (life == life_) (this->*job)();
  });
}

void Client::complain(const std::string& what) {
  ledger_.complain(fmt::format("client {} as '{}': {}", number_, name_, what));
}

std::string Client::somebody() { return habits_.names[chance_.below(habits_.names.size())]; }

void Client::leave() {
  ++life_;
  link_.reset();
}

void Client::start_over() {
  ++life_;
  link_.reset();
  is_logged_in_ = false;
  is_acting_ = false;
  waiting_ = 0;
  // Whoever is out of reach from here may be found from there.
  if (chance_.one_in(2)) node_ = static_cast<unsigned>(chance_.below(cluster_.nodes()));
  if (is_settling_ && !speaks_) {
    has_settled_ = true;
    return;
  }
  later(chance_.between(50ms, 1s), &Client::connect);
}

void Client::connect() {
  if (!cluster_.is_serving(node_)) {
    node_ = (node_ + 1) % cluster_.nodes();
    return later(200ms, &Client::connect);
  }
  auto link = cluster_.connect(node_);
  if (!link) return later(chance_.between(200ms, 1s), &Client::connect);
  link_.emplace(std::move(*link));
  // The end may be heard within a call of this client's own.
  link_->on_close([this](const testing::ClientClose& close) {
    if (close.code == 1002) complain("closed: " + close.reason);
    later(0ms, &Client::start_over);
  });
  link_->on_push<Heard>([this](const Heard& heard) {
    // Before this one was attached its Actor spoke to another.
    if (heard.connection != connections_) return;
    if (heard.number != heard_ + 1) {
      complain(fmt::format("push {} of connection {} came after push {}", heard.number,
                           heard.connection, heard_));
    }
    heard_ = heard.number;
  });
  later(0ms, &Client::log_in);
  later(1s, &Client::attend);
}

// Gives up a connection on which nothing comes any more.
void Client::attend() {
  if (waiting_ > 0 && ledger_.now() - oldest_request_ > patience) return start_over();
  later(1s, &Client::attend);
}

template <typename Reply, typename P, typename F>
void Client::request(const P& packet, F on_reply) {
  if (waiting_++ == 0) oldest_request_ = ledger_.now();
  // The session itself answers a LogIn and a Quit, whoever its Actor is bound to.
  constexpr bool is_relayed = !std::is_same_v<Reply, LoggedIn> && !std::is_same_v<Reply, HasQuit>;
  link_->request<Reply>(
      packet, [this, life = life_, on_reply,
               missed = is_relayed ? missed_pushes_ : std::string()](const Result<Reply>& reply) {
        if (life != life_) return;
        --waiting_;
        oldest_request_ = ledger_.now();
        if (!reply) return see_failure(reply.error());
        if (!missed.empty()) complain(missed);
        on_reply(*reply);
      });
}

void Client::see_failure(const Error& error) {
  switch (error.kind()) {
    case ErrorKind::Unavailable:
    case ErrorKind::DeadlineExceeded:
    case ErrorKind::CapacityExceeded:
    case ErrorKind::ShuttingDown:
    case ErrorKind::NotFound:
    case ErrorKind::InvalidOperation:
      break;
    default:
      complain("got " + to_string(error));
  }
  if (is_settling_ || !is_logged_in_) later(chance_.between(50ms, 500ms), &Client::start_over);
}

void Client::log_in() {
  if (!link_->is_open()) return;
  is_logged_in_ = false;
  // Numbered over all clients, so that an Actor can tell them apart.
  connections_ = number_ * 10'000 + (connections_ % 10'000) + 1;
  notes_ = 0;
  heard_ = 0;
  missed_pushes_.clear();
  request<LoggedIn>(LogIn{.name = name_}, [this, number = connections_](const LoggedIn&) {
    // It may have logged in again before this answer came.
    if (number != connections_) return;
    connection_ = number;
    is_logged_in_ = true;
    // Along the binding, so that of two who log in at once the one that keeps it attaches last.
    link_->send(Attach{.connection = connection_});
    if (is_settling_) return later(0ms, &Client::conclude);
    if (!std::exchange(is_acting_, true)) later(0ms, &Client::act);
  });
}

void Client::act() {
  if (is_settling_) return;
  if (is_logged_in_ && link_->is_open() && waiting_ < most_waiting) {
    static constexpr std::array<Job, 12> jobs = {
        &Client::say_notes, &Client::say_notes, &Client::say_notes, &Client::ask,
        &Client::ask,       &Client::tell,      &Client::tell,      &Client::query,
        &Client::query,     &Client::move,      &Client::tick,      &Client::quit};
    (this->*jobs[chance_.below(jobs.size())])();
  }
  later(chance_.between(habits_.shortest_pause, habits_.longest_pause), &Client::act);
}

void Client::say_notes() {
  for (std::uint64_t i = 1 + chance_.below(4); i > 0; --i) {
    link_->send(Note{.connection = connection_, .number = ++notes_});
  }
}

void Client::ask() {
  const auto delay = static_cast<std::uint32_t>(chance_.below(20'000));
  request<Answer>(Ask{.connection = connection_, .delay_us = delay},
                  [this, said = notes_](const Answer& answer) { check_answer(answer, said); });
}

void Client::check_answer(const Answer& answer, std::uint32_t said_before) {
  if (answer.connection != connection_) {
    // Another client has attached itself since; this one is about to be closed.
    return;
  }
  if (answer.notes < said_before) {
    complain(fmt::format("the Actor has {} notes of connection {}, and {} were sent before",
                         answer.notes, connection_, said_before));
  }
  // Pushes go to the session that is bound when they are made, the answer to the one that asked:
  // they part when another client has logged in as the same. Then nothing more that is asked here
  // reaches the Actor, so an answer to what is asked from now on shows that this was not the
  // reason.
  if (is_logged_in_ && answer.pushes > heard_ && missed_pushes_.empty()) {
    missed_pushes_ = fmt::format(
        "the Actor had pushed {} times, and {} were heard before the answer that says so",
        answer.pushes, heard_);
  }
}

void Client::tell() {
  request<Told>(Tell{.to = somebody(), .count = static_cast<std::uint32_t>(1 + chance_.below(4))});
}

void Client::query() {
  if (!habits_.asks_others) return;
  request<Queried>(Query{.to = somebody(),
                         .patience_us = static_cast<std::uint32_t>(1'000 + chance_.below(400'000)),
                         .delay_us = static_cast<std::uint32_t>(chance_.below(8'000)),
                         .gives_way = chance_.one_in(2)});
}

void Client::move() {
  if (!habits_.moves) return;
  if (chance_.one_in(3)) return request<Registered>(Leave{});
  // Rooms mostly welcome.
  const auto mood = static_cast<std::uint8_t>(chance_.one_in(2) ? 0 : chance_.below(4));
  const std::string& room = habits_.rooms[chance_.below(habits_.rooms.size())];
  request<Registered>(Enter{.room = room, .mood = mood});
}

void Client::tick() {
  const bool stops = chance_.one_in(3);
  const auto period = stops ? 0 : static_cast<std::uint32_t>(5'000 + chance_.below(500'000));
  request<Ticking>(Tick{.period_us = period});
}

void Client::quit() {
  if (!habits_.quits || !chance_.one_in(3)) return;
  request<HasQuit>(Quit{.name = name_}, [this](const HasQuit&) {
    // Its Actor is gone, and with it what was on its way to it.
    if (chance_.one_in(2)) return start_over_soon();
    later(0ms, &Client::log_in);
  });
}

void Client::start_over_soon() { later(0ms, &Client::start_over); }

void Client::settle(bool speaks) {
  is_settling_ = true;
  speaks_ = speaks;
  // A connection that troubles have befallen may be dead without anybody knowing yet.
  later(0ms, &Client::start_over);
}

// Everything said on this connection must arrive, and everything asked be answered.
void Client::conclude() {
  request<Ticking>(Tick{.period_us = 0}, [this](const Ticking&) {
    say_notes();
    ask_last();
  });
}

void Client::ask_last() {
  request<Answer>(Ask{.connection = connection_, .delay_us = 0}, [this](const Answer& answer) {
    if (answer.connection != connection_) {
      complain("another client is attached although only one is left");
    }
    check_answer(answer, notes_);
    request<Told>(Tell{.to = name_, .count = 1}, [this](const Told&) { query_last(); });
  });
}

void Client::query_last() {
  const Query query{.to = name_, .patience_us = 2'000'000, .delay_us = 0, .gives_way = false};
  // Of itself, which is refused at once, and must not hang.
  request<Queried>(query, [this](const Queried& asked) {
    if (asked.was_answered) complain("an Actor has answered itself during its own turn");
    has_settled_ = true;
  });
}

}  // namespace probe
