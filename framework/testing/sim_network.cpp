#include "testing/sim_network.hpp"

#include <algorithm>
#include <charconv>
#include <deque>
#include <variant>

#include <fmt/format.h>

#include "testing/sim_world.hpp"

namespace spotmesh::testing {
namespace {

struct Frames {
  std::vector<SharedBytes> frames;
};
struct Accept {};  // towards the listener: the connection is there
struct Up {};      // towards the dialler: the connection is there
struct Refused {
  std::string reason;
};
struct Down {
  std::string reason;
};
using Passing = std::variant<Frames, Accept, Up, Refused, Down>;

}  // namespace

// One end of a connection, with what is on its way to it.
class SimNetwork::End final : public mesh::Connection {
 public:
  End(Link& link, SimNode& node) : link(link), node(node) {}
  void send(std::vector<SharedBytes> frames) override;
  void close(std::string reason) override;

  Link& link;
  SimNode& node;
  SimTransport* transport = nullptr;  // null: that process is gone
  mesh::ConnectionHandler* handler = nullptr;
  mesh::DialHandler* dialler = nullptr;  // until the dial is decided
  std::deque<std::pair<Instant, Passing>> inbound;
  bool is_pumping = false;
  bool is_over = false;  // nothing is called any more
};

class SimNetwork::Link final : public std::enable_shared_from_this<Link> {
 public:
  Link(SimNetwork& network, SimNode& dialling, SimNode& listening, std::string address)
      : network(network),
        dialling_(*this, dialling),
        listening_(*this, listening),
        address_(std::move(address)) {}

  End& dialling() { return dialling_; }
  End& listening() { return listening_; }
  End& peer_of(const End& end) { return &end == &dialling_ ? listening_ : dialling_; }
  bool is_over() const { return dialling_.is_over && listening_.is_over; }
  bool joins(const SimNode& a, const SimNode& b) const {
    return (&dialling_.node == &a && &listening_.node == &b) ||
           (&dialling_.node == &b && &listening_.node == &a);
  }

  // Puts `passing` on its way to `to`, behind what is on its way already.
  void pass(End& to, Passing passing);
  // Lets the next thing arrive, now or later, unless the path is blocked.
  void pump(End& to);
  // Drops some tail of what is under way to `to`.
  void lose_tail(End& to);
  void cut(const std::string& reason);
  void give_up_dial();
  // What the machine of `to` sees. Its process sees it when it runs.
  void arrive(End& to, Passing passing);

  SimNetwork& network;
  bool is_cut = false;  // what is sent from now on goes nowhere

 private:
  void accept(End& to);
  void end(End& end) {
    end.is_over = true;
    network.forget_ended();
  }

  End dialling_;
  End listening_;
  const std::string address_;
};

void SimNetwork::End::send(std::vector<SharedBytes> frames) {
  if (link.is_cut || is_over || frames.empty()) return;
  link.pass(link.peer_of(*this), Frames{std::move(frames)});
}

void SimNetwork::End::close(std::string reason) {
  if (is_over) return;
  if (!std::exchange(link.is_cut, true)) link.pass(link.peer_of(*this), Down{reason});
  // The other end may have closed already, and a partition may hold back the word of it.
  inbound.clear();
  link.arrive(*this, Down{std::move(reason)});
}

void SimNetwork::Link::pass(End& to, Passing passing) {
  std::size_t bytes = 0;
  if (const auto* frames = std::get_if<Frames>(&passing)) {
    for (const SharedBytes& frame : frames->frames) bytes += frame.size();
  }
  SimNode& from = peer_of(to).node;
  Instant arrival = network.departure(from, to.node, bytes) + network.delay(from, to.node);
  if (!to.inbound.empty()) arrival = std::max(arrival, to.inbound.back().first);
  to.inbound.emplace_back(arrival, std::move(passing));
  pump(to);
}

void SimNetwork::Link::pump(End& to) {
  if (to.is_pumping || to.inbound.empty()) return;
  if (network.path(peer_of(to).node, to.node).is_blocked) return;
  to.is_pumping = true;
  network.world_.at(to.inbound.front().first, [self = shared_from_this(), &to] {
    to.is_pumping = false;
    if (to.inbound.empty() || self->network.path(self->peer_of(to).node, to.node).is_blocked) {
      return;
    }
    // What was on its way has been dropped or delayed since.
    if (to.inbound.front().first > self->network.world_.now()) return self->pump(to);
    Passing passing = std::move(to.inbound.front().second);
    to.inbound.pop_front();
    self->arrive(to, std::move(passing));
    self->pump(to);
  });
}

void SimNetwork::Link::arrive(End& to, Passing passing) {
  if (std::holds_alternative<Accept>(passing)) return accept(to);
  to.node.deliver([self = shared_from_this(), &to, passing = std::move(passing)]() mutable {
    if (to.is_over || to.transport == nullptr) return;
    if (auto* frames = std::get_if<Frames>(&passing)) {
      to.handler->on_frames(to, std::move(frames->frames));
    } else if (std::holds_alternative<Up>(passing)) {
      if (auto* dialler = std::exchange(to.dialler, nullptr)) dialler->on_up(to);
    } else if (auto* refused = std::get_if<Refused>(&passing)) {
      self->end(to);
      if (auto* dialler = std::exchange(to.dialler, nullptr)) {
        dialler->on_dial_failed(Error::unavailable(std::move(refused->reason)));
      } else {
        to.handler->on_down(to, std::move(refused->reason));
      }
    } else if (auto* down = std::get_if<Down>(&passing)) {
      self->end(to);
      to.handler->on_down(to, std::move(down->reason));
    }
  });
}

void SimNetwork::Link::accept(End& to) {
  const auto found = network.listeners_.find(address_);
  if (found == network.listeners_.end()) {
    is_cut = true;
    end(to);
    pass(dialling_, Refused{fmt::format("nobody listens on {}", address_)});
    return;
  }
  to.transport = found->second.transport;
  to.node.deliver([self = shared_from_this(), &to] {
    const auto listener = self->network.listeners_.find(self->address_);
    if (to.is_over || to.transport == nullptr) return;
    if (listener == self->network.listeners_.end()) {
      self->cut("nobody accepts the connection");
      self->end(to);
      return;
    }
    to.handler = &listener->second.acceptor->on_accept(to);
  });
  // The machine answers, whether its process runs or not.
  pass(dialling_, Up{});
}

void SimNetwork::Link::lose_tail(End& to) {
  std::size_t under_way = 0;
  for (const auto& [when, passing] : to.inbound) {
    if (const auto* frames = std::get_if<Frames>(&passing)) under_way += frames->frames.size();
  }
  auto kept = static_cast<std::size_t>(random_below(network.random_, under_way + 1));
  for (auto each = to.inbound.begin(); each != to.inbound.end(); ++each) {
    auto* frames = std::get_if<Frames>(&each->second);
    if (frames == nullptr) continue;
    if (kept == 0) {
      to.inbound.erase(each, to.inbound.end());
      return;
    }
    if (frames->frames.size() > kept) frames->frames.resize(kept);
    kept -= frames->frames.size();
  }
}

void SimNetwork::Link::cut(const std::string& reason) {
  if (std::exchange(is_cut, true)) return;
  for (End* to : {&dialling_, &listening_}) {
    lose_tail(*to);
    if (to->dialler != nullptr && to->inbound.empty()) {
      pass(*to, Refused{reason});
    } else {
      pass(*to, Down{reason});
    }
  }
}

void SimNetwork::Link::give_up_dial() {
  mesh::DialHandler* dialler = std::exchange(dialling_.dialler, nullptr);
  if (dialler == nullptr || dialling_.transport == nullptr) return;
  is_cut = true;
  dialling_.inbound.clear();
  lose_tail(listening_);
  pass(listening_, Down{"the dialler gave up"});
  end(dialling_);
  dialler->on_dial_failed(Error::unavailable(fmt::format("{} does not answer", address_)));
}

SimNetwork::SimNetwork(SimWorld& world, SimNetworkOptions options)
    : world_(world), options_(options), random_(world.random("network")) {}

SimNetwork::~SimNetwork() = default;

std::unique_ptr<SimTransport> SimNetwork::attach(SimNode& node) {
  return std::unique_ptr<SimTransport>(new SimTransport(*this, node));
}

void SimNetwork::set_delay(const SimNode& from, const SimNode& to, Duration shortest,
                           Duration longest) {
  path(from, to).delay = std::pair(shortest, longest);
}

void SimNetwork::set_bandwidth(const SimNode& from, const SimNode& to,
                               std::uint64_t bytes_per_second) {
  path(from, to).bytes_per_second = bytes_per_second;
}

Instant SimNetwork::departure(const SimNode& from, const SimNode& to, std::size_t bytes) {
  Path& taken = path(from, to);
  if (taken.bytes_per_second == 0) return world_.now();
  const std::uint64_t nanoseconds = bytes * 1'000'000'000ULL / taken.bytes_per_second;
  taken.free_at =
      std::max(taken.free_at, world_.now()) + Duration(static_cast<Duration::rep>(nanoseconds));
  return taken.free_at;
}

void SimNetwork::block(const SimNode& from, const SimNode& to) { path(from, to).is_blocked = true; }

void SimNetwork::unblock(const SimNode& from, const SimNode& to) {
  if (!std::exchange(path(from, to).is_blocked, false)) return;
  const Instant earliest = world_.now() + delay(from, to);
  for (const auto& link : std::vector(links_)) {
    for (End* end : {&link->dialling(), &link->listening()}) {
      if (&end->node != &to || &link->peer_of(*end).node != &from) continue;
      for (auto& [when, passing] : end->inbound) when = std::max(when, earliest);
      link->pump(*end);
    }
  }
}

void SimNetwork::partition(const SimNode& a, const SimNode& b) {
  block(a, b);
  block(b, a);
}

void SimNetwork::heal(const SimNode& a, const SimNode& b) {
  unblock(a, b);
  unblock(b, a);
}

void SimNetwork::cut(const SimNode& a, const SimNode& b) {
  for (const auto& link : std::vector(links_)) {
    if (link->joins(a, b)) link->cut("connection reset");
  }
}

Duration SimNetwork::delay(const SimNode& from, const SimNode& to) {
  const auto& own = path(from, to).delay;
  return own ? random_.between(own->first, own->second)
             : random_.between(options_.min_delay, options_.max_delay);
}

Result<std::string> SimNetwork::listen(SimTransport& transport, std::string address,
                                       mesh::ConnectionAcceptor& acceptor) {
  const std::size_t colon = address.rfind(':');
  std::uint16_t port = 0;
  const char* end = address.data() + address.size();
  const auto parsed = colon == std::string::npos || colon == 0
                          ? std::from_chars_result{nullptr, std::errc::invalid_argument}
                          : std::from_chars(address.data() + colon + 1, end, port);
  if (parsed.ec != std::errc() || parsed.ptr != end) {
    return fail(Error::invalid_operation(fmt::format("'{}' is no address host:port", address)));
  }
  if (port == 0) address = fmt::format("{}:{}", address.substr(0, colon), next_port_++);
  if (!listeners_.try_emplace(address, Listener{&transport, &acceptor}).second) {
    return fail(Error::unavailable(fmt::format("{} is taken", address)));
  }
  return address;
}

void SimNetwork::dial(SimTransport& transport, const std::string& address,
                      mesh::DialHandler& handler) {
  const auto found = listeners_.find(address);
  // Nobody there: the node itself stands for the machine that refuses.
  SimNode& listening = found == listeners_.end() ? transport.node_ : found->second.transport->node_;
  auto link = std::make_shared<Link>(*this, transport.node_, listening, address);
  link->dialling().transport = &transport;
  link->dialling().handler = &handler;
  link->dialling().dialler = &handler;
  links_.push_back(link);
  link->pass(link->listening(), Accept{});
  world_.after(options_.dial_timeout,
               [link, &node = transport.node_] { node.deliver([link] { link->give_up_dial(); }); });
}

void SimNetwork::stop_listening(const SimTransport& transport) {
  std::erase_if(listeners_, [&](const auto& each) { return each.second.transport == &transport; });
}

void SimNetwork::detach(SimTransport& transport) {
  stop_listening(transport);
  for (const auto& link : std::vector(links_)) {
    for (End* end : {&link->dialling(), &link->listening()}) {
      if (end->transport != &transport) continue;
      link->cut("the peer's process has ended");
      end->transport = nullptr;
      end->is_over = true;
    }
  }
  forget_ended();
}

void SimNetwork::forget_ended() {
  std::erase_if(links_, [](const auto& link) { return link->is_over(); });
}

SimTransport::~SimTransport() { network_.detach(*this); }

Result<std::string> SimTransport::listen(std::string address, mesh::ConnectionAcceptor& acceptor) {
  return network_.listen(*this, std::move(address), acceptor);
}

void SimTransport::stop_listening() { network_.stop_listening(*this); }

void SimTransport::dial(std::string address, mesh::DialHandler& handler) {
  network_.dial(*this, address, handler);
}

}  // namespace spotmesh::testing
