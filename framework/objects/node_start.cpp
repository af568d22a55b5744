#include "objects/node_start.hpp"

#include <utility>

#include <fmt/format.h>

#include "base/random.hpp"
#include "location/authority.hpp"
#include "location/entry_spots.hpp"
#include "location/keys.hpp"
#include "objects/callback_job.hpp"
#include "objects/lease_driver.hpp"
#include "objects/node_directory.hpp"
#include "objects/reassertions.hpp"
#include "objects/registry.hpp"
#include "objects/store_operations.hpp"
#include "objects/subscriptions.hpp"

namespace spotmesh::objects {
namespace {

constexpr std::string_view entry_spot_type = "entry";
constexpr Duration retry_pause = std::chrono::milliseconds(200);

SpotId new_entry_spot_id(const Core& core, std::size_t number) {
  if (auto id = location::entry_spot_id(core.identity.rid.text, number)) return *std::move(id);
  Random& random = core.seams.random;
  const std::uint64_t high = random.next_u64();
  return *SpotId::parse(
      fmt::format("{}-entry-{}", core.identity.prefix, uuid_v4(high, random.next_u64())));
}

location::AuthorityRecord entry_record(const Core& core, const SpotCell& spot) {
  return {.state = location::AuthorityState::Ready,
          .kind = location::ObjectKind::EntrySpot,
          .stable_type = *StableType::parse(entry_spot_type),
          .object_generation = spot.generation(),
          .owner_generation = AuthorityOwnerGeneration{1},
          .owner = *core.lease->view().stamp,
          .mesh = spot.mesh().name,
          .reservation = random_id<ReservationId>(core.seams.random)};
}

}  // namespace

void ObjectsNode::Starting::on_lease(Result<void> acquired) {
  if (!acquired) return end(std::move(acquired));
  core_.directory->start();
  next_mesh();
}

void ObjectsNode::Starting::give_up(const Error& error) {
  if (done_ == nullptr) return;
  retry_.cancel();
  end(fail(error));
}

void ObjectsNode::Starting::next_mesh() {
  const auto& meshes = core_.application.meshes();
  while (next_ < meshes.size() && !core_.is_draining()) {
    const MeshTypes& mesh = *meshes[next_++];
    if (mesh.entry_spot != nullptr) return make_entry_spot(mesh);
  }
  if (core_.is_draining()) return;
  publisher_.publish(location::HostState::Serving,
                     [this](Result<void> written) { end(std::move(written)); });
}

void ObjectsNode::Starting::make_entry_spot(const MeshTypes& mesh) {
  auto generation = core_.lease->mint();
  if (!generation) return end(fail(generation.error()));
  auto spot = runtime::make_ref<SpotCell>(core_, mesh, *mesh.entry_spot,
                                          new_entry_spot_id(core_, core_.entry_spots.size()),
                                          *generation, location::ObjectKind::EntrySpot);
  core_.lease->holdings().add(location::keys::spot(spot->id()), *generation);
  push_callback(
      core_, spot->mailbox(), {.what = "the factory of the Entry Spot", .spot = spot.get()},
      [this, spot]() -> Task<void> {
        auto adopted = spot->adopt(spot->type().model->factory(spot->context()));
        if (adopted) {
          spot->object()->configure();
        } else {
          failure_ = adopted.error();
        }
        return {};
      },
      [this, spot](std::optional<Error> error) {
        if (!error.has_value()) error = std::exchange(failure_, std::nullopt);
        if (error.has_value()) return end(fail(*std::move(error)));
        if (done_ == nullptr) return;
        spot_ = spot;
        core_.subscriptions->announce(*spot, [this] { write_record(); });
      });
}

void ObjectsNode::Starting::write_record() {
  if (done_ == nullptr || core_.is_draining()) return;
  if (!core_.lease->view().is_held) {
    return end(fail(Error::unavailable("the node's lease was lost while it started")));
  }
  location::AuthorityRecord record = entry_record(core_, *spot_);
  location::Commit commit = location::write_object(
      core_.lease->view(), location::keys::spot(spot_->id()), std::nullopt, record);
  is_writing_ = true;
  core_.operations->settle(
      "record of " + spot_->name(), std::move(commit),
      core_.now() + limits::default_operation_timeout,
      [this, record = std::move(record)](const location::SettleOutcome& outcome) mutable {
        on_written(std::move(record), outcome);
      });
}

void ObjectsNode::Starting::on_written(location::AuthorityRecord record,
                                       const location::SettleOutcome& outcome) {
  using Kind = location::SettleOutcome::Kind;
  is_writing_ = false;
  if (done_ == nullptr) return;
  switch (outcome.kind) {
    case Kind::Applied:
      return expose(std::exchange(spot_, {}), std::move(record), outcome.versions.front());
    case Kind::NotApplied:
      // A store that is away, or has forgotten, is waited for.
      core_.log(LogLevel::Warning, outcome.error->message());
      return retry_.arm(core_.now() + retry_pause);
    case Kind::Conflict:
      return end(fail(Error::unavailable(
          fmt::format("the record of {} cannot be written: '{}' stands against it", spot_->name(),
                      location::keys::printable(outcome.failed_key)))));
  }
}

void ObjectsNode::Starting::expose(const runtime::Ref<SpotCell>& spot,
                                   location::AuthorityRecord record,
                                   location::StoreVersion version) {
  spot->authority = location::VersionedAuthority{std::move(record), version};
  spot->state = CellState::Ready;
  core_.entry_spots.emplace(&spot->mesh(), spot);
  core_.registry->add(spot);
  core_.subscriptions->begin(*spot);
  core_.reassertions->exposed(spot);
  spot->timers().start_declared();
  next_mesh();
}

void ObjectsNode::Starting::end(Result<void> result) {
  auto done = std::exchange(done_, nullptr);
  if (!done) return;
  if (result) core_.emit("node.serving", core_.identity.rid.text);
  done(std::move(result));
}

}  // namespace spotmesh::objects
