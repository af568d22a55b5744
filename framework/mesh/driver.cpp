#include "mesh/driver.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include <spotmesh/ids.hpp>

namespace spotmesh::mesh {
namespace {

MeshOptions checked(MeshOptions options) {
  const auto demand = [](bool holds, std::string_view what) {
    if (!holds) throw ConfigurationError(fmt::format("the mesh's {}", what));
  };
  demand(!options.cluster.empty() && options.cluster.size() <= max_id_bytes,
         "cluster name has 1 to 255 bytes");
  demand(validate_id(options.cluster, "cluster name").has_value(), "cluster name is UTF-8");
  demand(!options.secret.empty(), "secret is missing; all nodes of a cluster have the same one");
  demand(options.advertised_address.empty() || !options.listen_address.empty(),
         "advertised_address needs a listen_address");
  demand(options.window_bytes > 0, "window_bytes must be above zero");
  for (const LaneBound& bound : options.lanes) {
    demand(bound.messages > 0 && bound.bytes > 0, "lane bounds must be above zero");
  }
  for (const Duration duration :
       {options.heartbeat_interval, options.handshake_timeout, Duration(options.first_retry / 2),
        options.last_retry, options.acknowledgement_delay, options.address_check_time}) {
    demand(duration > Duration::zero(), "times must be above zero");
  }
  return options;
}

}  // namespace

MeshNode::Driver::Driver(Peer self, MeshOptions options, const MeshSeams& seams)
    : seams_(seams),
      context_{.credentials = {self, checked(options).cluster, Secret(options.secret)},
               .options = options,
               .random = seams.random,
               .faults = seams.faults},
      strand_(seams.scheduler),
      outbound_(runtime::make_ref<Outbound>(std::move(self), options, seams.addresses,
                                            static_cast<Outbound::Owner&>(*this))),
      machine_(context_) {}

MeshNode::Driver::~Driver() { outbound_->detach(); }

Result<std::string> MeshNode::Driver::start() {
  const std::string& address = context_.options.listen_address;
  if (address.empty()) return std::string();
  return seams_.transport.listen(address, *this);
}

void MeshNode::Driver::check_address(std::string address, std::function<void(Result<void>)> done) {
  strand_.post([this, address = std::move(address), done = std::move(done)]() mutable {
    check_done_ = std::move(done);
    check_.emplace(context_, std::move(address));
    feed_check(check::Start{});
  });
}

void MeshNode::Driver::stop(Duration linger, std::function<void()> done) {
  outbound_->stop();
  strand_.post([this, linger, done = std::move(done)]() mutable {
    stop_done_ = std::move(done);
    seams_.transport.stop_listening();
    send_ready();
    feed_check(check::Stop{});
    feed(machine::Stop{seams_.clock.now() + linger});
  });
}

void MeshNode::Driver::abandon() {
  strand_.close();
  seams_.timers.cancel(*this);
  outbound_->detach();
}

void MeshNode::Driver::end(const Peer& peer, const Error& reason) {
  if (!outbound_->end(peer)) return;
  strand_.post([this, peer, reason] { feed(machine::EndRun{peer, reason}); });
}

void MeshNode::Driver::on_ready() {
  strand_.post([this] { send_ready(); });
}

void MeshNode::Driver::on_arrived(LinkEnd& end) {
  strand_.post([this, end = runtime::Ref<LinkEnd>(&end)] { take_from(end); });
}

ConnectionHandler& MeshNode::Driver::on_accept(Connection& connection) {
  runtime::Ref<LinkEnd> end;
  {
    std::lock_guard lock(ends_mutex_);
    const ConnectionId id = 2 * ++last_accepted_ + 1;
    end = runtime::make_ref<LinkEnd>(id, static_cast<LinkEnd::Owner&>(*this), connection);
    ends_.emplace(id, end);
  }
  strand_.post([this, id = end->id()] { feed(machine::Accepted{id}); });
  return *end;
}

void MeshNode::Driver::on_timer(Instant) {
  strand_.post([this] {
    armed_for_ = Instant::max();
    feed_check(session::TimerFired{});
    feed(session::TimerFired{});
  });
}

void MeshNode::Driver::feed(machine::Event event) {
  if (has_finished_) return;
  for (auto& action : machine_.on_event(std::move(event), seams_.clock.now())) {
    std::visit([this](auto& each) { act(each); }, action);
  }
  count_tally();
  arm();
}

void MeshNode::Driver::feed_check(check::Event event) {
  if (!check_ || has_finished_) return;
  for (auto& action : check_->on_event(std::move(event), seams_.clock.now())) {
    std::visit([this](auto& each) { act(each); }, action);
  }
  arm();
}

void MeshNode::Driver::send_ready() {
  for (auto& [to, messages] : outbound_->take_ready()) {
    metrics_.messages_sent.add(static_cast<std::int64_t>(messages.size()));
    feed(machine::Send{to, std::move(messages)});
  }
}

void MeshNode::Driver::take_from(const runtime::Ref<LinkEnd>& end) {
  LinkEnd::Arrived arrived = end->take();
  const ConnectionId id = end->id();
  const auto tell = [this, id](auto event) {
    id == check::connection ? feed_check(std::move(event)) : feed(std::move(event));
  };
  if (arrived.is_up) tell(session::DialUp{id});
  if (!arrived.frames.empty()) tell(session::Frames{id, std::move(arrived.frames)});
  if (arrived.dial_failure) {
    forget_link_end(id);
    tell(session::DialFailed{id, *std::move(arrived.dial_failure)});
  }
  if (arrived.down) {
    forget_link_end(id);
    tell(session::Down{id, *std::move(arrived.down)});
  }
  finish_stop_if_due();
}

void MeshNode::Driver::arm() {
  const Instant deadline =
      std::min(machine_.deadline(), check_ ? check_->deadline() : Instant::max());
  if (deadline >= armed_for_) return;
  armed_for_ = deadline;
  seams_.timers.arm(*this, deadline);
}

void MeshNode::Driver::finish_stop_if_due() {
  {
    std::lock_guard lock(ends_mutex_);
    if (!is_stopped_ || !ends_.empty() || stop_done_ == nullptr) return;
  }
  has_finished_ = true;
  seams_.timers.cancel(*this);
  outbound_->detach();
  std::exchange(stop_done_, nullptr)();
}

runtime::Ref<LinkEnd> MeshNode::Driver::link_end(ConnectionId id) {
  std::lock_guard lock(ends_mutex_);
  const auto found = ends_.find(id);
  return found == ends_.end() ? runtime::Ref<LinkEnd>() : found->second;
}

void MeshNode::Driver::forget_link_end(ConnectionId id) {
  std::lock_guard lock(ends_mutex_);
  ends_.erase(id);
}

void MeshNode::Driver::count_tally() {
  const session::Tally tally = machine_.take_tally();
  const auto add = [](Count& count, std::size_t by) {
    if (by > 0) count.add(static_cast<std::int64_t>(by));
  };
  add(metrics_.frames_sent, tally.frames_sent);
  add(metrics_.frames_resent, tally.frames_resent);
  add(metrics_.frames_taken, tally.frames_taken);
  add(metrics_.duplicates_dropped, tally.duplicates_dropped);
  const auto sessions = static_cast<std::int64_t>(machine_.sessions());
  metrics_.sessions.add(sessions - metrics_.sessions.value());
}

}  // namespace spotmesh::mesh
