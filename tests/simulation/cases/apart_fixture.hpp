// A cluster that plays the checking game without clients, by hand.
#pragma once

#include <catch2/catch.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <spotmesh/spotmesh.hpp>
#include <spotmesh/testing/cluster.hpp>

#include "game.hpp"

namespace simulation {

class Apart {
 public:
  using Cluster = spotmesh::testing::Cluster;
  using Context = spotmesh::Context;
  template <typename T>
  using Result = spotmesh::Result<T>;

  // A node for each weight that it has in placement.
  Apart(std::uint64_t seed, const std::vector<std::uint32_t>& weights)
      : cluster([this](spotmesh::Application& app) { probe::configure_apart(app, ledger); },
                options(seed, weights)) {
    ledger.watch(cluster);
    // Until everybody has seen everybody.
    cluster.run_for(std::chrono::seconds(5));
  }

  // Begins a call on a turn of its own; the value appears when it has ended.
  template <typename T>
  std::shared_ptr<std::optional<T>> begin(unsigned node,
                                          std::function<spotmesh::Task<T>(Context&)> call) {
    auto caller = cluster.caller(node);
    REQUIRE(caller.has_value());
    auto outcome = std::make_shared<std::optional<T>>();
    caller->run([call = std::move(call), outcome](Context& context) -> spotmesh::Task<void> {
      outcome->emplace(co_await call(context));
    });
    return outcome;
  }
  template <typename T>
  T call(unsigned node, std::function<spotmesh::Task<T>(Context&)> call) {
    const auto outcome = begin<T>(node, std::move(call));
    INFO(cluster.trace());
    REQUIRE(cluster.run_until([&] { return outcome->has_value(); }));
    return std::move(**outcome);
  }

  Result<spotmesh::CreateResult> get_or_create(unsigned node, const std::string& name) {
    return call<Result<spotmesh::CreateResult>>(node, [=](Context& context) {
      return context.actors().get_or_create(name, probe::runner_type).submit();
    });
  }
  // One that must come to life.
  spotmesh::ActorRef make(unsigned node, const std::string& name) {
    const auto made = get_or_create(node, name);
    INFO((made ? std::string() : to_string(made.error())) << "\n" << cluster.trace());
    REQUIRE(made.has_value());
    REQUIRE(std::holds_alternative<spotmesh::Created>(*made));
    return probe::ref_of(*made);
  }
  Result<probe::Reply> ask(unsigned node, const std::string& name,
                           spotmesh::Duration patience = std::chrono::seconds(2)) {
    const probe::Question question{
        .left_us = static_cast<std::uint64_t>(patience / std::chrono::microseconds(1)),
        .delay_us = 0};
    return call<Result<probe::Reply>>(node, [=](Context& context) {
      return context.actors().request<probe::Reply>(name, question).timeout(patience).submit();
    });
  }
  std::optional<spotmesh::ActorRef> find(unsigned node, const std::string& name) {
    const auto found = call<Result<std::optional<spotmesh::ActorRef>>>(
        node, [=](Context& context) { return context.actors().find(name); });
    INFO((found ? std::string() : to_string(found.error())) << "\n" << cluster.trace());
    REQUIRE(found.has_value());
    return *found;
  }
  void destroy(unsigned node, const spotmesh::ActorRef& ref) {
    const auto ended =
        call<Result<bool>>(node, [=](Context& context) { return context.actors().destroy(ref); });
    INFO((ended ? std::string() : to_string(ended.error())) << "\n" << cluster.trace());
    REQUIRE(ended.has_value());
    REQUIRE(*ended);
    ledger.gone({ref.actor_id.text(), ref.object_generation.value});
  }

  // Whether nothing was wrong so far.
  void check_sound() {
    INFO(cluster.trace());
    CHECK(cluster.violations() == std::vector<std::string>{});
    CHECK(ledger.take_complaints() == std::vector<std::string>{});
  }

  probe::Ledger ledger;
  Cluster cluster;

 private:
  spotmesh::testing::ClusterOptions options(std::uint64_t seed,
                                            const std::vector<std::uint32_t>& weights) {
    spotmesh::testing::ClusterOptions options;
    options.seed = seed;
    options.nodes = static_cast<unsigned>(weights.size());
    for (const std::uint32_t weight : weights) {
      options.each.push_back({.configure = [this, weight](spotmesh::Application& app) {
        probe::configure_apart(app, ledger, {.weight = weight});
      }});
    }
    return options;
  }
};

}  // namespace simulation
