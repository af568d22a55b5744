// Client: somebody who uses the checking game at random, loses connections and comes back.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <spotmesh/testing/chance.hpp>
#include <spotmesh/testing/cluster.hpp>

#include "ledger.hpp"
#include "probe.packets.hpp"

namespace probe {

// What a run's clients do.
struct Habits {
  std::vector<std::string> names;  // several clients may share one
  std::vector<std::string> rooms;
  spotmesh::Duration shortest_pause = std::chrono::milliseconds(20);
  spotmesh::Duration longest_pause = std::chrono::milliseconds(600);
  bool asks_others = true;
  bool moves = true;
  bool quits = true;
};

class Client {
 public:
  Client(spotmesh::testing::Cluster& cluster, Ledger& ledger, const Habits& habits,
         std::uint64_t seed, unsigned number);
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  void begin();
  // From now on it does nothing but what must work: with `speaks`, log in and see that everything
  // it says arrives; without, go.
  void settle(bool speaks);
  bool has_settled() const { return has_settled_; }
  // For good. It must still outlive the cluster, where jobs of its own are planned.
  void leave();
  const std::string& name() const { return name_; }

 private:
  using Job = void (Client::*)();

  // Runs `job` later, on nobody's stack; nothing when the connection has changed meanwhile.
  void later(spotmesh::Duration delay, Job job);
  void connect();
  void start_over();
  void start_over_soon();
  void log_in();
  void attend();
  void act();
  void say_notes();
  void ask();
  void tell();
  void query();
  void move();
  void tick();
  void quit();
  void conclude();
  void ask_last();
  void query_last();
  // Sends a request and checks what may come of it.
  template <typename Reply, typename P, typename F>
  void request(const P& packet, F on_reply);
  template <typename Reply, typename P>
  void request(const P& packet) {
    request<Reply>(packet, [](const Reply&) {});
  }
  void see_failure(const spotmesh::Error& error);
  void check_answer(const Answer& answer, std::uint32_t said_before);
  void complain(const std::string& what);
  std::string somebody();

  spotmesh::testing::Cluster& cluster_;
  Ledger& ledger_;
  const Habits& habits_;
  spotmesh::testing::Chance chance_;
  const unsigned number_;
  std::string name_;
  std::optional<spotmesh::testing::SimStreamClient> link_;
  unsigned node_ = 0;
  std::uint32_t connections_ = 0;
  std::uint32_t connection_ = 0;  // of the last log-in that succeeded
  std::uint32_t notes_ = 0;
  std::uint32_t heard_ = 0;
  std::string missed_pushes_;  // in words, once an answer has come before pushes made before it
  std::uint64_t life_ = 0;     // grows with each connection
  bool is_logged_in_ = false;
  bool is_acting_ = false;
  spotmesh::Duration oldest_request_{};
  unsigned waiting_ = 0;
  bool is_settling_ = false;
  bool speaks_ = false;
  bool has_settled_ = false;
};

}  // namespace probe
