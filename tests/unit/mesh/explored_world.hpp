// One state of an explored mesh, and the steps that lead out of it.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "explorer.hpp"
#include "mesh/mesh_machine.hpp"
#include "runtime/faults.hpp"

namespace spotmesh::mesh::testing {

// The nodes of an exploration: `b` may have two runs, one after the other.
inline constexpr int node_a = 0;
inline constexpr int node_b = 1;
inline constexpr int node_b_again = 2;
inline constexpr int run_count = 3;

// What all states of an exploration share.
class ExploredNodes {
 public:
  explicit ExploredNodes(const ExploreOptions& options);
  const SessionContext& context(int node) const { return *contexts_[static_cast<size_t>(node)]; }
  const Peer& peer(int node) const { return context(node).credentials.self; }
  int node_of(const Peer& peer) const;

 private:
  // Chance adds nothing to an exploration.
  class NoRandom final : public Random {
   public:
    std::uint64_t next_u64() override { return UINT64_MAX; }
  };
  class Defects final : public runtime::Faults {
   public:
    explicit Defects(std::vector<std::string> points) : points_(std::move(points)) {}
    bool strikes(std::string_view point) override;

   private:
    std::vector<std::string> points_;
  };

  NoRandom random_;
  Defects defects_;
  std::vector<std::unique_ptr<SessionContext>> contexts_;
};

class ExploredWorld {
 public:
  ExploredWorld(const ExploredNodes& nodes, const ExploreOptions& options);

  struct Next;
  std::vector<Next> nexts() const;

  // What must not be so, or empty.
  const std::string& violation() const { return violation_; }
  // Nothing is under way, and all that was sent has arrived or its session is over.
  bool is_end() const;
  // Equal for states that nothing can tell apart but the time.
  std::string key() const;

 private:
  struct Item {
    enum class Kind : std::uint8_t { Up, Refused, Frame, Down } kind = Kind::Frame;
    SharedBytes frame;
  };
  struct Side {
    int node = -1;  // nobody, or nobody any more
    ConnectionId id = 0;
    std::deque<Item> inbound;

    bool learns_its_end() const {
      return !inbound.empty() && (inbound.back().kind == Item::Kind::Down ||
                                  inbound.back().kind == Item::Kind::Refused);
    }
  };
  struct Link {
    bool is_asked_for = true;  // not yet accepted or refused
    Side dialler;
    Side listener;
  };

  static std::size_t at(int node) { return static_cast<std::size_t>(node); }
  bool is_alive(int node) const { return machines_[at(node)].has_value(); }
  int present_b() const { return is_alive(node_b) ? node_b : node_b_again; }
  bool is_quiet() const;
  Instant deadline(int node) const;

  template <typename Step>
  void add(std::vector<Next>& nexts, std::string step, const Step& change) const;
  void add_sends(std::vector<Next>& nexts) const;
  void add_passing(std::vector<Next>& nexts) const;
  void add_faults(std::vector<Next>& nexts) const;
  void add_timers(std::vector<Next>& nexts) const;
  void fire_timers(const std::string& before, int only_node);

  void send(int from, int to);
  void accept(Link& link);
  void pass(std::size_t link, bool to_dialler);
  void cut(Link& link, std::size_t kept_to_dialler, std::size_t kept_to_listener);
  static void cut_side(Side& side, std::size_t kept);
  void restart_b(bool keeps_under_way);
  void fence_a();

  void feed(int node, machine::Event event);
  Side* side_of(int node, ConnectionId connection, Side** other);
  void act(int node, session::Write& action);
  void act(int node, session::Close& action);
  void act(int node, machine::Dial& action);
  void act(int node, machine::Deliver& action);
  void act(int node, machine::Credit& action);
  void act(int node, machine::Ended& action);
  template <typename Action>
  void act(int, Action&) {}
  void forget_dead_links();
  void violate(std::string what) {
    if (violation_.empty()) violation_ = std::move(what);
  }

  const ExploredNodes* nodes_;
  std::array<std::optional<MeshMachine>, run_count> machines_;
  std::vector<Link> links_;
  ConnectionId last_accepted_ = 1;
  Instant now_{};

  std::array<int, 2> sends_left_{};
  int cuts_left_ = 0;
  int restarts_left_ = 0;
  int fences_left_ = 0;
  int early_timers_left_ = 0;

  using Counts = std::array<std::array<std::size_t, run_count>, run_count>;
  Counts sent_{};                                                 // [from][to]
  Counts taken_{};                                                // [from][to]
  Counts credited_{};                                             // [from][to]
  std::array<std::array<bool, run_count>, run_count> is_over_{};  // [at][of]
  std::string violation_;
};

struct ExploredWorld::Next {
  std::string step;
  ExploredWorld world;
};

}  // namespace spotmesh::mesh::testing
