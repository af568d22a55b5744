// Cluster: N nodes of one Application in one process, in virtual time, replayable from a seed.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <spotmesh/application.hpp>
#include <spotmesh/error.hpp>
#include <spotmesh/testing/sim_stream_client.hpp>
#include <spotmesh/time.hpp>

namespace spotmesh::testing {

struct ClusterOptions {
  std::uint64_t seed = 1;
  unsigned nodes = 1;
  // From a call of the Location Store to its execution, and again to its answer.
  Duration shortest_store_latency = std::chrono::microseconds(50);
  Duration longest_store_latency = std::chrono::milliseconds(1);
  // Between a client and its node, one way.
  Duration shortest_link_latency = std::chrono::microseconds(50);
  Duration longest_link_latency = std::chrono::milliseconds(5);
};

// A test of a game is: make a Cluster from the function that the server's main() gives to its Host,
// connect clients, let time run, look. The seed decides the order of everything that may happen in
// any order, so a run that failed is run again by its seed. One thread, no real time: an hour of
// play takes milliseconds. Nothing here is thread-safe.
class Cluster {
 public:
  // Starts the nodes and runs until all of them serve. ConfigurationError as a Host would give it;
  // std::runtime_error when a node does not come to serve within a virtual minute.
  Cluster(const std::function<void(Application&)>& configure, ClusterOptions options = {});
  // Whatever still runs is abandoned.
  ~Cluster();
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  // A new client of that node's gateway, to be destroyed before the cluster. The error is what a
  // real client would be told: NotFound when nobody listens, or why it was turned away.
  Result<SimStreamClient> connect(unsigned node = 0);

  // Runs until `condition` holds, asked after every step; false when `limit` of virtual time has
  // passed, nothing can happen any more, or the run has become endless.
  bool run_until(const std::function<bool()>& condition, Duration limit = std::chrono::seconds(60));
  void run_for(Duration span);
  // Since the cluster was made.
  Duration elapsed() const;

  // The process of that node is gone from one moment to the next, and comes up again as a new run.
  void crash(unsigned node);
  void restart(unsigned node);
  // The process stands still (SIGSTOP) and goes on.
  void pause(unsigned node);
  void resume(unsigned node);
  // An orderly stop; false when it has not ended within `limit`.
  bool stop(unsigned node, Duration limit = std::chrono::seconds(30));
  bool is_serving(unsigned node) const;

  // The Location Store for all nodes.
  void set_store_available(bool is_available);
  void set_store_latency(Duration shortest, Duration longest);
  // Of a thousand operations so many are refused, and of a thousand commits so many end without
  // their outcome being known.
  void set_store_faults(unsigned unavailable_per_mille, unsigned unknown_per_mille);

  // The keys under which the Location Store holds records of Actors and Spots at this moment; none
  // after every node has stopped in order.
  std::vector<std::string> stored_objects() const;

  // Equal for two runs of one seed and one program, whatever the machine.
  std::uint64_t trace_hash() const;
  // The last things that happened, for a person who looks at a failed test.
  std::string trace() const;
  // Rules of the runtime that were broken so far, in words; empty when all is well.
  std::vector<std::string> violations() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace spotmesh::testing
