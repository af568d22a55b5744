// A cluster that plays the checking game, by hand.
#pragma once

#include <catch2/catch.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <spotmesh/testing/cluster.hpp>

#include "game.hpp"

namespace simulation {

using spotmesh::Result;
using spotmesh::testing::Cluster;
using spotmesh::testing::ClusterOptions;
using spotmesh::testing::SimStreamClient;

class Play {
 public:
  explicit Play(ClusterOptions options = {})
      : cluster([this](spotmesh::Application& app) { probe::configure(app, ledger); },
                std::move(options)) {
    ledger.watch(cluster);
  }

  // A node for each weight that it has in placement, which says where Actors are made.
  Play(std::uint64_t seed, const std::vector<std::uint32_t>& weights)
      : cluster([this](spotmesh::Application& app) { probe::configure(app, ledger); },
                placing(seed, weights)) {
    ledger.watch(cluster);
    // Until everybody has seen everybody.
    cluster.run_for(std::chrono::seconds(5));
  }

  SimStreamClient connect(unsigned node = 0) {
    auto client = cluster.connect(node);
    REQUIRE(client.has_value());
    return std::move(*client);
  }

  // The answer, once virtual time has brought it.
  template <typename Reply, typename P>
  Result<Reply> ask(SimStreamClient& client, const P& packet) {
    std::optional<Result<Reply>> answer;
    client.request<Reply>(packet, [&](Result<Reply> reply) { answer = std::move(reply); });
    INFO(cluster.trace());
    REQUIRE(cluster.run_until([&] { return answer.has_value(); }));
    return std::move(*answer);
  }

  Result<probe::LoggedIn> log_in(SimStreamClient& client, const std::string& name) {
    auto logged_in = ask<probe::LoggedIn>(client, probe::LogIn{.name = name});
    if (logged_in) client.send(probe::Attach{.connection = ++connections_});
    return logged_in;
  }
  // Of the last log-in.
  std::uint32_t connection() const { return connections_; }

  // Whether nothing was wrong so far.
  void check_sound() {
    INFO(cluster.trace());
    CHECK(cluster.violations() == std::vector<std::string>{});
    CHECK(ledger.take_complaints() == std::vector<std::string>{});
  }

  probe::Ledger ledger;
  Cluster cluster;

 private:
  ClusterOptions placing(std::uint64_t seed, const std::vector<std::uint32_t>& weights) {
    ClusterOptions options;
    options.seed = seed;
    options.nodes = static_cast<unsigned>(weights.size());
    options.creates_here = false;
    for (const std::uint32_t weight : weights) {
      options.each.push_back({.configure = [this, weight](spotmesh::Application& app) {
        probe::configure(app, ledger, {.weight = weight});
      }});
    }
    return options;
  }

  std::uint32_t connections_ = 0;
};

}  // namespace simulation
