#include "apart.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "workload.hpp"

namespace probe {

using namespace std::chrono_literals;
using spotmesh::Duration;
using spotmesh::testing::Chance;
using spotmesh::testing::Cluster;
using spotmesh::testing::Scenario;

namespace {

constexpr Duration look_period = 500ms;
// All nodes have served for so long before it is peace, as an operation of the store may have been
// on its way for a minute; and then it goes on for so long.
constexpr Duration shortest_service = 70s;
constexpr Duration peace = 8s;

ApartOptions draw_apart(Chance& chance) {
  ApartOptions options;
  options.seed = chance.next();
  const std::uint64_t names = 2 + chance.below(6);
  for (std::uint64_t i = 0; i < names; ++i) {
    options.customs.names.push_back(fmt::format("r{}", i));
  }
  const std::uint64_t rooms = 1 + chance.below(3);
  for (std::uint64_t i = 0; i < rooms; ++i) {
    options.customs.rooms.push_back(fmt::format("room{}", i));
  }
  options.residents = static_cast<unsigned>(2 + chance.below(5));
  options.customs.ends = !chance.one_in(5);
  options.customs.moves = !chance.one_in(4);
  options.customs.publishes = !chance.one_in(4);
  if (chance.one_in(4)) options.customs.longest_pause = 3s;
  // Few places on each node, yet one for everybody in all.
  if (chance.one_in(6)) options.limits.actors = static_cast<std::uint32_t>((names + 1) / 2);
  return options;
}

}  // namespace

void ApartWorkload::configure(spotmesh::Application& app) {
  configure_apart(app, ledger_, options_.limits);
}

void ApartWorkload::begin(Cluster& cluster) {
  cluster_ = &cluster;
  ledger_.watch(cluster);
  for (unsigned number = 0; number < options_.residents; ++number) {
    residents_.push_back(
        std::make_unique<Resident>(cluster, ledger_, options_.customs, options_.seed, number));
    residents_.back()->begin();
  }
}

void ApartWorkload::settle() {
  ledger_.set_calm();
  go_to(Phase::Recovering);
  look();
}

bool ApartWorkload::do_all_serve() const {
  for (unsigned node = 0; node < cluster_->nodes(); ++node) {
    if (!cluster_->is_serving(node)) return false;
  }
  return true;
}

bool ApartWorkload::are_all(bool (Resident::*something)() const) const {
  return std::ranges::all_of(residents_,
                             [&](const auto& resident) { return (*resident.*something)(); });
}

void ApartWorkload::go_to(Phase next) {
  phase_ = next;
  since_ = ledger_.now();
}

void ApartWorkload::look() {
  if (phase_ == Phase::Recovering && !do_all_serve()) since_ = ledger_.now();
  const Duration lasted = ledger_.now() - since_;
  if (phase_ == Phase::Recovering && lasted >= shortest_service) {
    ledger_.bulletins().set_peace();
    go_to(Phase::Peace);
  } else if (phase_ == Phase::Peace && lasted >= peace) {
    for (const auto& resident : residents_) resident->rest();
    go_to(Phase::Resting);
  } else if (phase_ == Phase::Resting && are_all(&Resident::is_idle)) {
    for (const auto& resident : residents_) resident->conclude();
    go_to(Phase::Concluding);
  } else if (phase_ == Phase::Concluding && are_all(&Resident::has_concluded)) {
    return go_to(Phase::Settled);
  }
  cluster_->after(look_period, [this] { look(); });
}

std::vector<std::string> ApartWorkload::finish() {
  for (const auto& resident : residents_) resident->look_around();
  if (has_settled()) {
    ledger_.check_losses(longest_route_age);
    ledger_.bulletins().check_unheard();
  } else {
    ledger_.check_pending();
    ledger_.complain(
        fmt::format("it has not settled; it is in phase {}", static_cast<unsigned>(phase_)));
  }
  return ledger_.take_complaints();
}

Scenario apart() {
  return {.name = "apart",
          .workload = [](Chance& chance) -> std::unique_ptr<spotmesh::testing::Workload> {
            return std::make_unique<ApartWorkload>(draw_apart(chance));
          },
          .cluster =
              [](Chance& chance) {
                return draw_cluster(chance, static_cast<unsigned>(2 + chance.below(3)));
              },
          .faults = spotmesh::testing::draw_faults};
}

}  // namespace probe
