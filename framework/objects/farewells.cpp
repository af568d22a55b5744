#include "objects/farewells.hpp"

#include <utility>
#include <vector>

#include "objects/callback_job.hpp"
#include "objects/core.hpp"
#include "objects/destructions.hpp"
#include "objects/spot_cell.hpp"
#include "objects/strand_link.hpp"

namespace spotmesh::objects {

namespace {

using runtime::Ref;

// From the list that a SpotWide Spot keeps on its own gate.
void take_from_list(Core& core, const Ref<SpotCell>& spot, const Ref<ActorCell>& actor) {
  if (!spot->shares_gate()) return;
  push_callback(
      core, spot->mailbox(), {.what = "leaving", .spot = spot.get()},
      [spot, actor]() -> Task<void> {
        spot->remove_member(*actor);
        return {};
      },
      [](const std::optional<Error>&) {});
}

}  // namespace

void Farewells::begin(const Ref<ActorCell>& actor) {
  Ref<SpotCell> spot = actor->spot();
  if (spot->state == CellState::Gone) return actor->own_gate().abandon();
  actor->is_leaving.store(true, std::memory_order_release);
  ++spot->transitions;
  take_from_list(core_, spot, actor);
  const std::uint64_t number = ++begun_;
  farewells_.emplace(number, Farewell{.actor = actor, .spot = std::move(spot)});
  actor->own_gate().abandon([link = core_.link, number] {
    link->post([number](Core& core) { core.farewells->on_gate_cleared(number); });
  });
}

// A turn on the gate of the Spot ends when what it awaits has come; the claim waits for that.
void Farewells::on_gate_cleared(std::uint64_t number) {
  const auto found = farewells_.find(number);
  if (found == farewells_.end()) return;
  Farewell& farewell = found->second;
  if (farewell.spot->state == CellState::Gone) return end(number);
  farewell.claim = farewell.actor->claim([this, number] { say(number); });
}

void Farewells::say(std::uint64_t number) {
  Farewell& farewell = farewells_.at(number);
  farewell.claim = nullptr;
  push_callback(
      core_, farewell.spot->mailbox(),
      {.what = "on_leave_actor", .actor = farewell.actor.get(), .spot = farewell.spot.get()},
      [actor = farewell.actor, spot = farewell.spot] {
        return SpotCallbacks::leave_actor(*spot->object(), *actor->object());
      },
      [this, number, actor = farewell.actor](const std::optional<Error>&) {
        actor->release_claim();
        end(number);
      });
}

void Farewells::end(std::uint64_t number) {
  const auto ended = farewells_.extract(number);
  if (ended.empty()) return;  // let go of
  SpotCell& spot = *ended.mapped().spot;
  --spot.transitions;
  core_.destructions->close_if_empty(spot);
}

void Farewells::stepped_down(const SpotCell& spot) {
  std::vector<std::uint64_t> over;
  for (auto& [number, farewell] : farewells_) {
    if (farewell.spot.get() != &spot || farewell.claim == nullptr) continue;
    if (farewell.actor->withdraw(farewell.claim)) over.push_back(number);
  }
  for (const std::uint64_t number : over) end(number);
}

void Farewells::let_go() {
  for (const auto& [number, farewell] : farewells_) farewell.actor->drop_claims();
  farewells_.clear();
}

}  // namespace spotmesh::objects
