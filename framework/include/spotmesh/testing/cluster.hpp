// Cluster: N nodes of one Application in one process, in virtual time, replayable from a seed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <spotmesh/application.hpp>
#include <spotmesh/error.hpp>
#include <spotmesh/testing/sim_caller.hpp>
#include <spotmesh/testing/sim_stream_client.hpp>
#include <spotmesh/time.hpp>

namespace spotmesh::testing {

// What makes one node of a cluster differ from the others.
struct ClusterNode {
  // Its own clock: what it shows at the start, and microseconds gained per second.
  Duration clock_offset{};
  std::int32_t clock_drift_ppm = 0;
  // What it runs instead of the cluster's application: other roles, another version.
  std::function<void(Application&)> configure;
  // Where it says that others reach it; empty: where it listens.
  std::string advertised_address{};
};

struct ClusterOptions {
  std::uint64_t seed = 1;
  unsigned nodes = 1;
  // From a call of the Location Store to its execution, and again to its answer.
  Duration shortest_store_latency = std::chrono::microseconds(50);
  Duration longest_store_latency = std::chrono::milliseconds(1);
  // Between a client and its node, one way.
  Duration shortest_link_latency = std::chrono::microseconds(50);
  Duration longest_link_latency = std::chrono::milliseconds(5);
  // Whether each node makes what it creates itself, or placement says where, as in production.
  // Unset: nodes with a stream gateway do the former, so that a test knows where a client's Actors
  // are, and all others the latter.
  std::optional<bool> creates_here{};
  // Of the first nodes; the others are as they come.
  std::vector<ClusterNode> each{};
  // Of a thousand clients so many speak the binary form of STREAM, the others JSON.
  unsigned binary_clients_per_mille = 500;
  // Defects that are planted before anything starts; see Cluster::plant_defect.
  std::vector<std::pair<std::string, unsigned>> defects{};
};

// What may befall a client, in the hands of neither end.
enum class ClientTrouble : std::uint8_t {
  StopsReading,  // what is pushed stays in the socket buffers, then at the server
  FallsSilent,   // hears everything, but nothing that it sends arrives any more
  Vanishes,      // its device loses power: nothing is heard either way, and nobody is told
  BreaksOff      // the connection is reset; both ends learn of it
};

// A test of a game is: make a Cluster from the function that the server's main() gives to its Host,
// connect clients, let time run, look. The seed decides the order of everything that may happen in
// any order, so a run that failed is run again by its seed. One thread, no real time: an hour of
// play takes milliseconds. Nothing here is thread-safe, and nothing that lets time run may be
// called from what the simulation calls (handlers of clients and Actors, after()).
class Cluster {
 public:
  // Starts the nodes and runs until all of them serve. ConfigurationError as a Host would give it;
  // std::runtime_error when a node does not come to serve within a virtual minute.
  Cluster(const std::function<void(Application&)>& configure, ClusterOptions options = {});
  // Whatever still runs is abandoned.
  ~Cluster();
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  unsigned nodes() const;

  // A new client of that node's gateway, to be destroyed before the cluster. The error is what a
  // real client would be told: NotFound when nobody listens, or why it was turned away.
  Result<SimStreamClient> connect(unsigned node = 0);
  // The same in a form of one's own choice.
  Result<SimStreamClient> connect(unsigned node, ClientForm form);

  // Somebody new on that node, who calls without being an object or a client. NotFound when its
  // process has ended.
  Result<SimCaller> caller(unsigned node);

  // Runs until `condition` holds, asked after every step; false when `limit` of virtual time has
  // passed, nothing can happen any more, or the run has become endless.
  bool run_until(const std::function<bool()>& condition, Duration limit = std::chrono::seconds(60));
  void run_for(Duration span);
  // `job` runs once, between two steps, when `delay` has passed.
  void after(Duration delay, std::function<void()> job);
  // Since the cluster was made.
  Duration elapsed() const;

  // The process of that node is gone from one moment to the next, and comes up again as a new run.
  void crash(unsigned node);
  void restart(unsigned node);
  // The process stands still (SIGSTOP) and goes on.
  void pause(unsigned node);
  void resume(unsigned node);
  // The machine that all nodes run on is suspended for `by`, at the end of the next turn of that
  // node, before what the turn has said leaves it. Zero: what was asked for before is not.
  void suspend_in_turn(unsigned node, Duration by);
  // An orderly stop; false when it has not ended within `limit`.
  bool stop(unsigned node, Duration limit = std::chrono::seconds(30));
  bool is_serving(unsigned node) const;
  // Neither crashed nor stopped; it may be paused.
  bool is_running(unsigned node) const;
  bool is_paused(unsigned node) const;
  // It could not start, or it has lost its lease and serves no longer: a Host would exit here.
  bool has_failed(unsigned node) const;

  // That node's clock jumps ahead, as after a suspension of the machine; runs faster or slower; or
  // its wall clock goes anywhere.
  void step_clock(unsigned node, Duration by);
  void set_clock_drift(unsigned node, std::int32_t ppm);
  void step_wall_clock(unsigned node, std::chrono::milliseconds by);

  // The path between two nodes, one way; it outlives restarts of both. What is sent on a blocked
  // path waits, as it does while TCP retransmits.
  void set_path_delay(unsigned from, unsigned to, Duration shortest, Duration longest);
  void block_path(unsigned from, unsigned to);
  void unblock_path(unsigned from, unsigned to);
  // Ends every connection between the two; of what is under way some part still arrives.
  void cut_connections(unsigned a, unsigned b);

  // The Location Store, for all nodes or one.
  void set_store_available(bool is_available);
  void set_store_available(unsigned node, bool is_available);
  void set_store_latency(Duration shortest, Duration longest);
  // Of a thousand operations so many are refused, and of a thousand commits so many end without
  // their outcome being known.
  void set_store_refusals(unsigned per_mille);
  void set_store_unknowns(unsigned per_mille);
  void set_store_faults(unsigned unavailable_per_mille, unsigned unknown_per_mille);
  // Of a thousand operations so many are held up for `by`, on their way or on their way back.
  void set_store_strays(unsigned per_mille, Duration by = std::chrono::seconds(30));
  // Of a thousand commits so many take `by` to reach the store, also when the process that has sent
  // them stands still or is gone by then.
  void set_store_late_commits(unsigned per_mille, Duration by = std::chrono::seconds(30));
  // Of a thousand hints so many are lost, so many come twice, and each comes up to so much later.
  void set_store_hints(unsigned lost_per_mille, unsigned repeated_per_mille, Duration longest);
  // Another store takes over, which has not got the writes of the last `forgotten` (at most two
  // minutes), and shows a new epoch.
  void fail_over_store(Duration forgotten);
  // All that have happened, oldest first.
  struct StoreFailOver {
    Duration at{};         // elapsed() at that moment
    Duration forgotten{};  // what was written in so long a time before it is gone
  };
  const std::vector<StoreFailOver>& store_fail_overs() const;

  // An operator ends an Actor that lives on that node, whatever it is doing.
  Result<void> end_actor(unsigned node, std::string_view actor_id);
  // Somebody writes half a record for that Actor over whatever stands there.
  void damage_record(std::string_view actor_id);

  // Clients whose connection is open at a node that runs, and what may happen to one of them.
  std::size_t open_clients() const;
  void trouble_client(std::size_t which, ClientTrouble trouble);
  // All clients read again.
  void calm_clients();

  // Makes the framework itself misbehave: the defect of that name happens this often wherever the
  // code asks for it, on all nodes, also after restarts. For tests that prove that a checker would
  // have noticed; framework/docs/simulator.md lists the names.
  void plant_defect(std::string_view point, unsigned per_mille = 1000);
  // How often it has happened.
  std::uint64_t defect_strikes(std::string_view point) const;

  // The keys under which the Location Store holds records of Actors and Spots at this moment; none
  // after every node has stopped in order.
  std::vector<std::string> stored_objects() const;

  // Equal for two runs of one seed and one program, whatever the machine.
  std::uint64_t trace_hash() const;
  // The last things that happened, for a person who looks at a failed test.
  std::string trace() const;
  // Rules of the runtime that were broken so far, in words; empty when all is well.
  std::vector<std::string> violations() const;
  // The same, after looking also at what must hold only when nothing is under way: no creation, no
  // Join, no request, no message of the game. Of the nodes that serve, and of those that have
  // stopped in order.
  std::vector<std::string> violations_at_rest();

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace spotmesh::testing
