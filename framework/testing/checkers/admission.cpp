#include "testing/checkers/admission.hpp"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>

#include "location/keys.hpp"
#include "node/node.hpp"
#include "objects/actor_cell.hpp"
#include "objects/spot_cell.hpp"
#include "testing/sim_node.hpp"
#include "testing/sim_world.hpp"

namespace spotmesh::testing {
namespace {

using namespace std::chrono_literals;
namespace keys = location::keys;

// By the contract: a TTL of 15 s less a margin of 5 s. Written down here once more, so that a wrong
// figure in the runtime is no excuse.
constexpr Duration admission_time = 10s;
// A node's clock may be slow by up to 500 microseconds a second.
constexpr Duration tolerance = 6ms;

// Empty for a session, which lives without a lease.
std::string name_of(const runtime::Mailbox& mailbox) {
  if (const auto* actor = dynamic_cast<const objects::ActorCell*>(&mailbox.owner())) {
    return actor->name();
  }
  if (const auto* spot = dynamic_cast<const objects::SpotCell*>(&mailbox.owner())) {
    return spot->name();
  }
  return {};
}

}  // namespace

void AdmissionChecker::on_commit(const SimStore&, std::string_view client,
                                 const location::Commit& commit, Instant sent) {
  const LiveProcess* process = run_.find(client);
  if (process == nullptr) return;
  const std::string own_beat(std::string(keys::beat_prefix) + process->node->identity().rid.text);
  const bool renews = std::ranges::any_of(commit.writes, [&](const location::Write& write) {
    return write.value && write.key == own_beat;
  });
  if (!renews) return;
  Instant& renewed = renewed_.try_emplace(process->seams, sent).first->second;
  renewed = std::max(renewed, sent);
}

void AdmissionChecker::see(const SimNode& node, const runtime::Mailbox& mailbox,
                           std::string_view what) {
  const auto renewed = renewed_.find(&node);
  const bool has_lease = renewed != renewed_.end();
  const Duration late =
      has_lease ? run_.world->now() - (renewed->second + admission_time) : Duration::max();
  if (late < tolerance) return;
  const std::string name = name_of(mailbox);
  if (name.empty()) return;
  if (!has_lease) return complain(fmt::format("{} {} {} without a lease", node.name(), what, name));
  complain(fmt::format("{} {} {} {} ms past its admission deadline", node.name(), what, name,
                       std::chrono::duration_cast<std::chrono::milliseconds>(late).count()));
}

}  // namespace spotmesh::testing
