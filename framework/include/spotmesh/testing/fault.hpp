// Fault: one kind of thing that befalls a cluster, again and again, while a simulation tests it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <spotmesh/testing/chance.hpp>
#include <spotmesh/testing/cluster.hpp>
#include <spotmesh/time.hpp>

namespace spotmesh::testing {

// A fault strikes, lasts for a while and is mended, and later strikes again, until it is ended.
// Derive to add one of your own, or take those below.
class Fault {
 public:
  virtual ~Fault();
  Fault(const Fault&) = delete;
  Fault& operator=(const Fault&) = delete;

  // For the trace and for people.
  virtual std::string_view name() const = 0;

  // From now on it strikes. The cluster outlives it, and so does `chance`.
  void begin(Cluster& cluster, Chance& chance);
  // Mends what is broken and strikes no more. Called once, before the fault is destroyed.
  void end();

  // How often it has struck, and how often of these in its first ten seconds.
  std::uint64_t strikes() const { return strikes_; }
  std::uint64_t early_strikes() const { return early_strikes_; }

 protected:
  // How long it waits between two strikes, and how long one lasts; drawn anew each time.
  struct Rhythm {
    Duration shortest_pause;
    Duration longest_pause;
    Duration shortest_strike;
    Duration longest_strike;
  };
  explicit Fault(Rhythm rhythm) : rhythm_(rhythm) {}

  // Between two steps of the simulation. False when there was nothing that it could befall.
  virtual bool strike(Cluster& cluster, Chance& chance) = 0;
  // Undoes what the strike before has done; must do nothing where there is nothing to undo.
  virtual void mend(Cluster& cluster) = 0;
  // Does `step` of a strike after a while, unless the fault has been ended, or destroyed, by then.
  void after(Duration pause, std::function<void()> step);

 private:
  struct Life;
  void plan_strike();

  const Rhythm rhythm_;
  Cluster* cluster_ = nullptr;
  Chance* chance_ = nullptr;
  std::shared_ptr<Life> life_;
  Duration begun_{};
  std::uint64_t strikes_ = 0;
  std::uint64_t early_strikes_ = 0;
};

// The faults that come with the simulator, in framework/testing/faults. Those that take two nodes
// do nothing in a cluster of one.
namespace faults {

// A node stands still (SIGSTOP, a long pause of the machine) for less, or for more, than a lease
// lasts; then it goes on as if nothing had been.
std::unique_ptr<Fault> short_freezes();
std::unique_ptr<Fault> long_freezes();
// A node stands still for more than a lease, and what it has sent to the store last comes there
// only when it has been taken for dead.
std::unique_ptr<Fault> late_commits();
// The machine that all nodes run on is suspended for longer than a lease admits, at the end of a
// turn, before what the turn has said has left its node.
std::unique_ptr<Fault> suspensions();
// A process is gone from one moment to the next and comes up again as a new run.
std::unique_ptr<Fault> crashes();
// Clocks run faster or slower, by up to 500 microseconds a second.
std::unique_ptr<Fault> clock_drift();
// Wall clocks go anywhere.
std::unique_ptr<Fault> clock_steps();
// The way between two nodes becomes slow; is clogged one way; is gone both ways; or one node is
// apart from all others.
std::unique_ptr<Fault> slow_paths();
std::unique_ptr<Fault> one_way_partitions();
std::unique_ptr<Fault> partitions();
std::unique_ptr<Fault> isolations();
// Connections between two nodes break, and some part of what was under way arrives.
std::unique_ptr<Fault> cut_connections();
// The store answers slowly; holds a few operations up for half a minute; refuses some; leaves
// unclear whether some commits were applied; is away for everybody, or for one node.
std::unique_ptr<Fault> slow_store();
std::unique_ptr<Fault> store_strays();
std::unique_ptr<Fault> store_refusals();
std::unique_ptr<Fault> unknown_outcomes();
std::unique_ptr<Fault> store_outages();
std::unique_ptr<Fault> store_cut_off();
// Hints are lost, late and repeated.
std::unique_ptr<Fault> lost_hints();
// Another store takes over and has forgotten the last seconds.
std::unique_ptr<Fault> fail_overs();
// Clients stop reading for a while; hear but are not heard; vanish; break off.
std::unique_ptr<Fault> slow_clients();
std::unique_ptr<Fault> silent_clients();
std::unique_ptr<Fault> vanishing_clients();
std::unique_ptr<Fault> breaking_clients();

}  // namespace faults

using Faults = std::vector<std::unique_ptr<Fault>>;

}  // namespace spotmesh::testing
