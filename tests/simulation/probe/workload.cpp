#include "workload.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>

namespace probe {

using namespace std::chrono_literals;
using spotmesh::testing::Chance;
using spotmesh::testing::Cluster;
using spotmesh::testing::ClusterOptions;
using spotmesh::testing::Scenario;

namespace {

std::unique_ptr<spotmesh::testing::Workload> draw_probe(Chance& chance) {
  return std::make_unique<ProbeWorkload>(draw_workload(chance));
}

}  // namespace

ClusterOptions draw_cluster(Chance& chance, unsigned nodes) {
  ClusterOptions options;
  options.nodes = nodes;
  for (unsigned node = 0; node < nodes; ++node) {
    options.each.push_back({.clock_offset = chance.between(0s, 1000h),
                            .clock_drift_ppm = static_cast<std::int32_t>(chance.below(401)) - 200});
  }
  if (chance.one_in(3)) options.longest_link_latency = 200ms;
  return options;
}

void ProbeWorkload::configure(spotmesh::Application& app) {
  probe::configure(app, ledger_, options_.limits);
}

void ProbeWorkload::begin(Cluster& cluster) {
  cluster_ = &cluster;
  ledger_.watch(cluster);
  for (unsigned number = 0; number < options_.clients; ++number) {
    clients_.push_back(
        std::make_unique<Client>(cluster, ledger_, options_.habits, options_.seed, number));
    clients_.back()->begin();
  }
}

void ProbeWorkload::settle() {
  is_settling_ = true;
  ledger_.set_calm();
  std::set<std::string> spoken_for;
  for (const auto& client : clients_) client->settle(spoken_for.insert(client->name()).second);
}

bool ProbeWorkload::has_settled() const {
  return is_settling_ &&
         std::ranges::all_of(clients_, [](const auto& client) { return client->has_settled(); });
}

std::vector<std::string> ProbeWorkload::finish() {
  const bool is_stuck = !has_settled();
  for (const auto& client : clients_) {
    if (!client->has_settled()) ledger_.complain("'" + client->name() + "' has not settled");
  }
  if (!is_stuck) ledger_.check_losses(cluster_->nodes() == 1 ? 0s : longest_route_age);
  for (const auto& client : clients_) client->leave();
  return ledger_.take_complaints();
}

WorkloadOptions draw_workload(Chance& chance) {
  WorkloadOptions options;
  options.seed = chance.next();
  const std::uint64_t names = 1 + chance.below(5);
  for (std::uint64_t i = 0; i < names; ++i) options.habits.names.push_back(fmt::format("r{}", i));
  const std::uint64_t rooms = 1 + chance.below(3);
  for (std::uint64_t i = 0; i < rooms; ++i) {
    options.habits.rooms.push_back(fmt::format("room{}", i));
  }
  options.clients = static_cast<unsigned>(names + chance.below(4));
  options.habits.quits = !chance.one_in(4);
  options.habits.moves = !chance.one_in(6);
  options.habits.asks_others = !chance.one_in(6);
  if (chance.one_in(4)) options.habits.longest_pause = 3s;
  if (chance.one_in(8)) options.limits.spots = 1;
  return options;
}

Scenario alone() {
  return {.name = "alone",
          .workload = draw_probe,
          .cluster = [](Chance& chance) { return draw_cluster(chance, 1); },
          .faults = spotmesh::testing::draw_faults};
}

Scenario together() {
  return {.name = "together",
          .workload = draw_probe,
          .cluster =
              [](Chance& chance) {
                auto options = draw_cluster(chance, static_cast<unsigned>(2 + chance.below(3)));
                options.creates_here = chance.one_in(3);
                return options;
              },
          .faults = spotmesh::testing::draw_faults};
}

}  // namespace probe
