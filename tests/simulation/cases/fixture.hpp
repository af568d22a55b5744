// A cluster that plays the checking game, by hand.
#pragma once

#include <catch2/catch.hpp>

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
  std::uint32_t connections_ = 0;
};

}  // namespace simulation
