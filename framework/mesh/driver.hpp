// MeshNode::Driver: does what the MeshMachine says, on one strand.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "mesh/address_check.hpp"
#include "mesh/link_end.hpp"
#include "mesh/mesh_machine.hpp"
#include "mesh/mesh_node.hpp"
#include "mesh/outbound.hpp"
#include "runtime/ref_counted.hpp"
#include "runtime/strand.hpp"

namespace spotmesh::mesh {

class MeshNode::Driver final : private Outbound::Owner,
                               private LinkEnd::Owner,
                               private ConnectionAcceptor,
                               private runtime::TimerEntry {
 public:
  Driver(Peer self, MeshOptions options, const MeshSeams& seams);
  ~Driver() override;

  Result<std::string> start();
  void check_address(std::string address, std::function<void(Result<void>)> done);
  void stop(Duration linger, std::function<void()> done);
  void abandon();
  void end(const Peer& peer, const Error& reason);

  Outbound& outbound() { return *outbound_; }
  const Peer& self() const { return context_.credentials.self; }
  MeshMetrics& metrics() { return metrics_; }

 private:
  void on_ready() override;
  void on_arrived(LinkEnd& end) override;
  ConnectionHandler& on_accept(Connection& connection) override;
  void on_timer(Instant now) override;

  // All that follows is done on the strand.
  void feed(machine::Event event);
  void feed_check(check::Event event);
  void send_ready();
  void take_from(const runtime::Ref<LinkEnd>& end);
  void dial(ConnectionId id, const std::string& address);
  void arm();
  void finish_stop_if_due();

  void act(session::Write& action);
  void act(session::Close& action);
  void act(session::Trust& action);
  void act(check::Dial& action);
  void act(check::Finished& action);
  void act(machine::Dial& action);
  void act(machine::Deliver& action);
  void act(machine::Credit& action);
  void act(machine::Linked& action);
  void act(machine::Unlinked& action);
  void act(machine::Refused& action);
  void act(machine::DialLost& action);
  void act(machine::Ended& action);
  void act(machine::Stopped& action);

  void tell_ended(const Peer& peer, const Error& reason);
  runtime::Ref<LinkEnd> link_end(ConnectionId id);
  void forget_link_end(ConnectionId id);
  void count_tally();
  void note(LogLevel level, std::string_view event, const std::string& peer, std::string text);

  const MeshSeams seams_;
  const SessionContext context_;
  MeshMetrics metrics_;
  runtime::Strand strand_;
  const runtime::Ref<Outbound> outbound_;
  MeshMachine machine_;
  std::optional<AddressCheck> check_;
  std::function<void(Result<void>)> check_done_;
  Instant armed_for_ = Instant::max();
  bool is_stopped_ = false;    // no session is left
  bool has_finished_ = false;  // no connection is left either
  std::function<void()> stop_done_;

  // From the beginning of a dial or the accepting of a connection to its end.
  mutable std::mutex ends_mutex_;
  std::map<ConnectionId, runtime::Ref<LinkEnd>> ends_;
  ConnectionId last_accepted_ = 0;
};

}  // namespace spotmesh::mesh
