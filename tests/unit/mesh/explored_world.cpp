#include "explored_world.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace spotmesh::mesh::testing {

using namespace std::chrono_literals;

ExploredNodes::ExploredNodes(const ExploreOptions& options) : defects_(options.defects) {
  const std::array<Peer, run_count> peers = {Peer{NodeRid{"a"}, LifecycleId{0, 1}},
                                             Peer{NodeRid{"b"}, LifecycleId{0, 2}},
                                             Peer{NodeRid{"b-again"}, LifecycleId{0, 3}}};
  for (const Peer& peer : peers) {
    contexts_.push_back(std::make_unique<SessionContext>(
        SessionContext{.credentials = {peer, "explored", Secret("s")},
                       .options = {.cluster = "explored", .secret = "s", .listen_address = "x:1"},
                       .random = random_,
                       .faults = &defects_}));
  }
}

bool ExploredNodes::Defects::strikes(std::string_view point) {
  return std::ranges::find(points_, point) != points_.end();
}

int ExploredNodes::node_of(const Peer& peer) const {
  for (int node = 0; node < run_count; ++node) {
    if (this->peer(node) == peer) return node;
  }
  return -1;
}

ExploredWorld::ExploredWorld(const ExploredNodes& nodes, const ExploreOptions& options)
    : nodes_(&nodes),
      sends_left_{options.messages_from_a, options.messages_from_b},
      cuts_left_(options.cuts),
      restarts_left_(options.restarts),
      fences_left_(options.fences),
      early_timers_left_(options.early_timers) {
  machines_[node_a].emplace(nodes.context(node_a));
  machines_[node_b].emplace(nodes.context(node_b));
}

bool ExploredWorld::is_quiet() const {
  return std::ranges::all_of(links_, [](const Link& link) {
    return !link.is_asked_for && link.dialler.inbound.empty() && link.listener.inbound.empty();
  });
}

Instant ExploredWorld::deadline(int node) const {
  return is_alive(node) ? machines_[at(node)]->deadline() : Instant::max();
}

std::vector<ExploredWorld::Next> ExploredWorld::nexts() const {
  std::vector<Next> nexts;
  add_sends(nexts);
  add_passing(nexts);
  add_faults(nexts);
  add_timers(nexts);
  return nexts;
}

template <typename Step>
void ExploredWorld::add(std::vector<Next>& nexts, std::string step, const Step& change) const {
  nexts.push_back({std::move(step), *this});
  ExploredWorld& next = nexts.back().world;
  change(next);
  next.forget_dead_links();
}

void ExploredWorld::add_sends(std::vector<Next>& nexts) const {
  const int b = present_b();
  if (sends_left_[0] > 0) {
    add(nexts, "a sends", [&](ExploredWorld& next) {
      --next.sends_left_[0];
      next.send(node_a, b);
    });
  }
  if (sends_left_[1] > 0 && is_alive(b)) {
    add(nexts, "b sends", [&](ExploredWorld& next) {
      --next.sends_left_[1];
      next.send(b, node_a);
    });
  }
}

void ExploredWorld::add_passing(std::vector<Next>& nexts) const {
  for (std::size_t i = 0; i < links_.size(); ++i) {
    if (links_[i].is_asked_for) {
      add(nexts, fmt::format("dial {} arrives", links_[i].dialler.id),
          [&](ExploredWorld& next) { next.accept(next.links_[i]); });
    }
    for (const bool to_dialler : {true, false}) {
      const Side& side = to_dialler ? links_[i].dialler : links_[i].listener;
      if (side.inbound.empty()) continue;
      add(nexts,
          fmt::format("dial {} passes one to its {}, kind {}", links_[i].dialler.id,
                      to_dialler ? "dialler" : "listener",
                      static_cast<int>(side.inbound.front().kind)),
          [&](ExploredWorld& next) { next.pass(i, to_dialler); });
    }
  }
}

void ExploredWorld::add_faults(std::vector<Next>& nexts) const {
  for (std::size_t i = 0; cuts_left_ > 0 && i < links_.size(); ++i) {
    const Link& link = links_[i];
    if (link.is_asked_for || link.dialler.node < 0 || link.listener.node < 0) continue;
    for (std::size_t left = 0; left <= link.dialler.inbound.size(); ++left) {
      for (std::size_t right = 0; right <= link.listener.inbound.size(); ++right) {
        add(nexts, fmt::format("dial {} is cut, keeping {} and {}", link.dialler.id, left, right),
            [&](ExploredWorld& next) {
              --next.cuts_left_;
              next.cut(next.links_[i], left, right);
            });
      }
    }
  }
  for (const bool keeps : {false, true}) {
    if (restarts_left_ == 0) break;
    add(nexts, fmt::format("b dies, what it sent {}", keeps ? "arrives" : "is lost"),
        [&](ExploredWorld& next) { next.restart_b(keeps); });
  }
  if (fences_left_ > 0) {
    add(nexts, "b reads that a was fenced", [](ExploredWorld& next) { next.fence_a(); });
  }
}

void ExploredWorld::add_timers(std::vector<Next>& nexts) const {
  const bool is_early = !is_quiet();
  if (is_early && early_timers_left_ == 0) return;
  const std::string before = key();
  for (int node = 0; node < run_count; ++node) {
    if (deadline(node) == Instant::max()) continue;
    add(nexts, fmt::format("a timer of node {} fires", node), [&](ExploredWorld& next) {
      // The clocks of others stand still while something is under way: it is slow, not they.
      next.fire_timers(before, is_early ? node : -1);
      next.early_timers_left_ -= is_early ? 1 : 0;
    });
    if (!is_early) return;  // the clocks of all go on
  }
}

// Until something changes: a timer may have been armed for what is no longer so.
void ExploredWorld::fire_timers(const std::string& before, int only_node) {
  constexpr int most = 100;
  for (int times = 0; times < most && key() == before; ++times) {
    int due = only_node;
    for (int node = 0; node < run_count && only_node < 0; ++node) {
      if (due < 0 || deadline(node) < deadline(due)) due = node;
    }
    if (deadline(due) == Instant::max()) return;
    now_ = std::max(now_, deadline(due));
    feed(due, session::TimerFired{});
  }
}

void ExploredWorld::send(int from, int to) {
  // As Outbound does: nothing is accepted for a run that is over.
  if (is_over_[at(from)][at(to)]) return;
  const std::size_t number = ++sent_[at(from)][at(to)];
  machine::Send event{nodes_->peer(to), {}};
  event.messages.push_back(
      {Lane::Messages, SharedBytes::copy_of(as_bytes(fmt::format("{}", number)))});
  feed(from, std::move(event));
}

void ExploredWorld::accept(Link& link) {
  link.is_asked_for = false;
  const int listener = link.dialler.node == node_a ? present_b() : node_a;
  if (!is_alive(listener)) {
    link.dialler.inbound.push_back({Item::Kind::Refused, {}});
    return;
  }
  link.listener.node = listener;
  link.listener.id = last_accepted_ += 2;
  link.dialler.inbound.push_back({Item::Kind::Up, {}});
  feed(listener, machine::Accepted{link.listener.id});
}

void ExploredWorld::pass(std::size_t link, bool to_dialler) {
  Side& side = to_dialler ? links_[link].dialler : links_[link].listener;
  const Item item = std::move(side.inbound.front());
  side.inbound.pop_front();
  const int node = side.node;
  const ConnectionId id = side.id;
  switch (item.kind) {
    case Item::Kind::Up:
      return feed(node, session::DialUp{id});
    case Item::Kind::Refused:
      side.node = -1;
      return feed(node, session::DialFailed{id, "refused"});
    case Item::Kind::Frame:
      return feed(node, session::Frames{id, {item.frame}});
    case Item::Kind::Down:
      side.node = -1;
      return feed(node, session::Down{id, "down"});
  }
}

void ExploredWorld::cut(Link& link, std::size_t kept_to_dialler, std::size_t kept_to_listener) {
  cut_side(link.dialler, kept_to_dialler);
  cut_side(link.listener, kept_to_listener);
}

void ExploredWorld::cut_side(Side& side, std::size_t kept) {
  const bool had_up = !side.inbound.empty() && side.inbound.front().kind == Item::Kind::Up;
  if (side.learns_its_end()) return;
  side.inbound.resize(kept);
  side.inbound.push_back({had_up && kept == 0 ? Item::Kind::Refused : Item::Kind::Down, {}});
}

void ExploredWorld::restart_b(bool keeps_under_way) {
  --restarts_left_;
  for (Link& link : links_) {
    for (auto [own, other] :
         {std::pair(&link.dialler, &link.listener), std::pair(&link.listener, &link.dialler)}) {
      if (own->node != node_b) continue;
      *own = Side{};
      link.is_asked_for = false;
      if (other->node >= 0) cut_side(*other, keeps_under_way ? other->inbound.size() : 0);
    }
  }
  machines_[node_b].reset();
  machines_[node_b_again].emplace(nodes_->context(node_b_again));
}

void ExploredWorld::fence_a() {
  --fences_left_;
  feed(node_b, machine::EndRun{nodes_->peer(node_a), Error::unavailable("fenced")});
}

void ExploredWorld::feed(int node, machine::Event event) {
  for (auto& action : machines_[at(node)]->on_event(std::move(event), now_)) {
    std::visit([&](auto& each) { act(node, each); }, action);
  }
}

ExploredWorld::Side* ExploredWorld::side_of(int node, ConnectionId connection, Side** other) {
  for (Link& link : links_) {
    for (auto [own, peer] :
         {std::pair(&link.dialler, &link.listener), std::pair(&link.listener, &link.dialler)}) {
      if (own->node != node || own->id != connection) continue;
      *other = peer;
      return own;
    }
  }
  return nullptr;
}

void ExploredWorld::act(int node, session::Write& action) {
  Side* other = nullptr;
  if (side_of(node, action.connection, &other) == nullptr || other->node < 0) return;
  if (other->learns_its_end()) return;
  for (auto& frame : action.frames) other->inbound.push_back({Item::Kind::Frame, std::move(frame)});
}

void ExploredWorld::act(int node, session::Close& action) {
  Side* other = nullptr;
  Side* own = side_of(node, action.connection, &other);
  if (own == nullptr) return;
  *own = Side{};
  if (other->node >= 0 && !other->learns_its_end())
    other->inbound.push_back({Item::Kind::Down, {}});
}

void ExploredWorld::act(int node, machine::Dial& action) {
  Link link;
  link.dialler.node = node;
  link.dialler.id = action.connection;
  links_.push_back(std::move(link));
}

void ExploredWorld::act(int node, machine::Deliver& action) {
  const int from = nodes_->node_of(action.from);
  const auto text = as_text(action.message.view());
  if (is_over_[at(node)][at(from)]) {
    violate(fmt::format("node {} took message {} of run {}, which was over", node, text, from));
  }
  const std::size_t due = ++taken_[at(from)][at(node)];
  if (text != fmt::format("{}", due)) {
    violate(
        fmt::format("node {} took message {} of node {} where {} was due", node, text, from, due));
  }
  if (due > sent_[at(from)][at(node)]) violate("more was taken than was sent");
}

void ExploredWorld::act(int node, machine::Credit& action) {
  const int to = nodes_->node_of(action.peer);
  credited_[at(node)][at(to)] += action.credit.messages;
  if (credited_[at(node)][at(to)] > taken_[at(node)][at(to)]) {
    violate("more was acknowledged than was taken");
  }
}

void ExploredWorld::act(int node, machine::Ended& action) {
  bool& is_over = is_over_[at(node)][at(nodes_->node_of(action.peer))];
  if (std::exchange(is_over, true)) violate("a run ended twice");
}

void ExploredWorld::forget_dead_links() {
  std::erase_if(links_, [](const Link& link) {
    return !link.is_asked_for && link.dialler.node < 0 && link.listener.node < 0;
  });
}

bool ExploredWorld::is_end() const {
  if (!is_quiet()) return false;
  for (int from = 0; from < run_count; ++from) {
    for (int to = 0; to < run_count; ++to) {
      const bool is_lost = !is_alive(from) || is_over_[at(from)][at(to)];
      if (!is_lost && credited_[at(from)][at(to)] != sent_[at(from)][at(to)]) return false;
      if (!is_alive(from)) continue;
      const SessionMachine* session = machines_[at(from)]->session_with(nodes_->peer(to));
      if (session != nullptr && session->state() != SessionMachine::State::Linked) return false;
    }
  }
  return true;
}

std::string ExploredWorld::key() const {
  std::string key;
  for (const auto& machine : machines_) {
    key += machine ? "|" : "-";
    if (machine) machine->append_state(key);
  }
  for (const Link& link : links_) {
    for (const Side* side : {&link.dialler, &link.listener}) {
      fmt::format_to(std::back_inserter(key), "/{} {} {}", side->node, side->id, link.is_asked_for);
      for (const Item& item : side->inbound) {
        fmt::format_to(std::back_inserter(key), ",{}", static_cast<int>(item.kind));
        key += as_text(item.frame.view());
      }
    }
  }
  fmt::format_to(std::back_inserter(key), "#{} {} {} {} {} {}", sends_left_[0], sends_left_[1],
                 cuts_left_, restarts_left_, fences_left_, early_timers_left_);
  for (int from = 0; from < run_count; ++from) {
    for (int to = 0; to < run_count; ++to) {
      fmt::format_to(std::back_inserter(key), ";{} {} {} {}", sent_[at(from)][at(to)],
                     taken_[at(from)][at(to)], credited_[at(from)][at(to)],
                     is_over_[at(from)][at(to)]);
    }
  }
  return key;
}

}  // namespace spotmesh::mesh::testing
