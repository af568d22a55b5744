#include "objects/creation_run.hpp"

#include <utility>

#include <fmt/format.h>

#include <spotmesh/limits.hpp>

#include "base/random.hpp"
#include "objects/capacity.hpp"
#include "objects/core.hpp"
#include "objects/lease_driver.hpp"
#include "objects/node_directory.hpp"
#include "objects/peer_port.hpp"
#include "objects/spot_cell.hpp"
#include "objects/store_operations.hpp"
#include "objects/vacancies.hpp"

namespace spotmesh::objects {
namespace {

location::ObjectKind kind_of(const CreateSpec& spec) {
  return spec.kind == TargetKind::Actor ? location::ObjectKind::Actor
                                        : location::ObjectKind::UserSpot;
}

location::OperationKey operation_of(const Core& core, const CreateSpec& spec) {
  if (spec.operation.has_value()) return *spec.operation;
  return {core.identity.rid, core.identity.lifecycle, random_id<OperationId>(core.seams.random)};
}

location::CreateRequest request_of(const Core& core, const CreateSpec& spec,
                                   const location::OperationKey& operation) {
  const auto milliseconds = [](Duration duration) {
    return std::chrono::duration_cast<std::chrono::milliseconds>(duration).count();
  };
  const WallTime wall = core.seams.clock.wall_now();
  const Duration kept = spec.deadline - core.now() + limits::terminal_record_retention;
  return {.object = object_key(spec.kind, spec.id),
          .kind = kind_of(spec),
          .stable_type = spec.type,
          .is_get_or_create = spec.accepts_existing,
          .operation = operation,
          .reservation = random_id<ReservationId>(core.seams.random),
          .mesh = spec.mesh->name,
          .deadline = spec.deadline,
          .wall_now = wall,
          .keep_terminal_until = {wall.unix_milliseconds + milliseconds(kept)},
          .chooses_place = !spec.operation.has_value()};
}

std::string_view noun(TargetKind kind) { return kind == TargetKind::Actor ? "Actor" : "Spot"; }

}  // namespace

CreationRun::CreationRun(Core& core, Creations& owner, CreateSpec spec, Creations::Done done,
                         std::uint64_t order)
    : MachineDriver(core),
      order(order),
      owner_(owner),
      spec_(std::move(spec)),
      done_(std::move(done)),
      operation_(operation_of(core, spec_)),
      placing_(core, *spec_.mesh, kind_of(spec_), spec_.type),
      machine_(request_of(core, spec_, operation_), core.lease->environment()) {}

void CreationRun::stop(const Error& reason) {
  if (away_ != nullptr) return away_->feed(durable::Failed{reason});
  feed(location::create::Stop{reason});
}

void CreationRun::let_go() {
  if (const auto staging = std::exchange(staging_, nullptr)) staging->discard();
}

void CreationRun::perform(location::create::ChoosePlace&) {
  if (core_.config.creates_here || !core_.peers->has_peers()) {
    return feed(location::create::PlacedHere{});
  }
  if (!core_.directory->is_complete()) {
    return feed(location::create::NoPlace{
        Error::unavailable("this node has not seen the others yet"), true});
  }
  const auto place = placing_.choose();
  if (!place) return feed(location::create::NoPlace{place.error(), false});
  if (!place->has_value()) return feed(location::create::PlacedHere{});
  feed(location::create::PlacedElsewhere{});
  away_ =
      std::make_shared<CreationAway>(core_, *this, spec_, operation_.operation, placing_, **place);
  away_->feed(durable::Start{});
}

void CreationRun::placed_here() {
  away_ = nullptr;
  feed(location::create::PlacedHere{});
}

void CreationRun::ended(Result<CreateReply> result) {
  away_ = nullptr;
  done({.result = std::move(result), .is_turned_away = false});
  feed(location::create::EndedElsewhere{});
}

void CreationRun::done(CreateEnd end) {
  if (auto told = std::exchange(done_, nullptr)) told(std::move(end));
}

void CreationRun::refuse_slot(Error error) {
  is_turned_away_ = true;
  feed(location::create::SlotRefused{std::move(error)});
}

Error CreationRun::no_entry_spot() const {
  return Error::unavailable(fmt::format("node {} has no Entry Spot of mesh '{}' for {} '{}'",
                                        core_.identity.rid.text, spec_.mesh->name, noun(spec_.kind),
                                        spec_.id));
}

void CreationRun::perform(location::create::TakeSlot& action) {
  const MeshTypes& mesh = *spec_.mesh;
  const ActorType* actor_type = mesh.find_actor(spec_.type.text());
  const SpotType* spot_type = mesh.find_spot(spec_.type.text());
  const bool is_offered =
      spec_.kind == TargetKind::Actor ? actor_type != nullptr : spot_type != nullptr;
  if (!is_offered || mesh.server->placement_weight == 0) {
    return refuse_slot(Error::unavailable(
        fmt::format("node {} of mesh '{}' takes no new objects of {} type '{}'",
                    core_.identity.rid.text, mesh.name, noun(spec_.kind), spec_.type.text())));
  }
  if (spec_.kind == TargetKind::Actor && !core_.ready_entry_spot(mesh)) {
    return refuse_slot(no_entry_spot());
  }
  auto taken = spec_.kind == TargetKind::Actor ? core_.capacity->take_actor(mesh)
                                               : core_.capacity->take_spot(mesh, *spot_type);
  if (!taken) return refuse_slot(taken.error());
  pending_ = action.generation;
  core_.lease->holdings().add(object_key(spec_.kind, spec_.id).key, pending_);
  feed(location::create::SlotTaken{});
}

void CreationRun::perform(location::create::FreeSlot&) {
  core_.lease->holdings().remove(object_key(spec_.kind, spec_.id).key, pending_);
  if (spec_.kind == TargetKind::Actor) {
    core_.capacity->free_pending_actor(*spec_.mesh);
  } else {
    core_.capacity->free_pending_spot(*spec_.mesh, *spec_.mesh->find_spot(spec_.type.text()));
  }
}

void CreationRun::perform(location::create::WatchOwner& action) {
  core_.lease->watch(action.owner);
}

void CreationRun::perform(location::create::OwnerOver& action) {
  core_.directory->owner_over(action.owner);
}

void CreationRun::perform(location::create::RunFactory& action) {
  const MeshTypes& mesh = *spec_.mesh;
  const ObjectGeneration generation = action.record.object_generation;
  // It may have been stepped down from since the slot was taken.
  if (spec_.kind == TargetKind::Actor && !core_.ready_entry_spot(mesh)) {
    return feed(location::create::Failed{no_entry_spot()});
  }
  staging_ =
      spec_.kind == TargetKind::Actor
          ? Staging::of_actor(core_, mesh, *mesh.find_actor(spec_.type.text()), spec_.id,
                              generation)
          : Staging::of_spot(core_, mesh, *mesh.find_spot(spec_.type.text()), spec_.id, generation);
  staging_->run(spec_.request, [self = shared_from_this()](const Staging::Outcome& outcome) {
    self->on_decided(outcome);
  });
}

void CreationRun::on_decided(const Staging::Outcome& outcome) {
  if (!outcome) return feed(location::create::Failed{outcome.error()});
  const Message& reply = outcome->reply();
  if (reply.payload().size() > limits::create_request_bytes) {
    return feed(location::create::Failed{Error::internal_failure(fmt::format(
        "the reply to the creation of {} '{}' has {} bytes; {} are allowed", noun(spec_.kind),
        spec_.id, reply.payload().size(), limits::create_request_bytes))});
  }
  std::optional<location::StoredReply> stored;
  if (!reply.is_empty()) stored = {reply.descriptor()->id, reply.payload()};
  reply_ = reply;
  if (!outcome->is_accepted()) return feed(location::create::Rejected{std::move(stored)});
  location::create::Accepted accepted = staging_->acceptance();
  accepted.reply = std::move(stored);
  feed(std::move(accepted));
}

void CreationRun::perform(location::create::DiscardInstance&) {
  if (const auto staging = std::exchange(staging_, nullptr)) staging->discard();
}

Message CreationRun::stored_reply(const location::StoredReply& reply) const {
  const PacketDescriptor* packet = core_.application.find_packet(reply.packet);
  return packet == nullptr ? Message() : Message(*packet, reply.payload);
}

CreateReply CreationRun::reply_to(const location::CreateOutcome& outcome) const {
  CreateReply reply;
  if (outcome.kind == location::CreateOutcome::Kind::Existing) {
    reply.kind = CreateReply::Kind::Existing;
  } else if (outcome.kind == location::CreateOutcome::Kind::Created) {
    reply.kind = CreateReply::Kind::Created;
  }
  reply.generation = outcome.object_generation;
  if (outcome.authority.has_value()) reply.mesh = outcome.authority->record.mesh;
  if (outcome.owner.has_value()) reply.node = outcome.owner->rid;
  if (!outcome.is_replay) {
    reply.reply = reply_;
  } else if (outcome.reply.has_value()) {
    reply.reply = stored_reply(*outcome.reply);
  }
  return reply;
}

void CreationRun::perform(location::create::Answer& action) {
  location::CreateOutcome& outcome = action.outcome;
  if (outcome.kind == location::CreateOutcome::Kind::Failed) {
    return done({.result = fail(*std::move(outcome.error)), .is_turned_away = is_turned_away_});
  }
  const CreateReply reply = reply_to(outcome);
  if (outcome.kind == location::CreateOutcome::Kind::Created && !outcome.is_replay) {
    std::exchange(staging_, nullptr)->expose(*std::move(outcome.authority));
  }
  done({.result = reply, .is_turned_away = false});
}

void CreationRun::perform(location::create::Done& action) {
  const location::ObjectKey object = object_key(spec_.kind, spec_.id);
  if (action.vacant.has_value()) core_.operations->vacancies().add(object.key, *action.vacant);
  if (action.leftover.has_value()) {
    core_.operations->remove(
        {.what = "removing what a creation of " + object.name + " left over",
         .key = object.key,
         .generation = *action.leftover,
         .version = {},
         .deadline = core_.now() + limits::default_operation_timeout},
        [](const Error&) {}, [](const location::RemoveOutcome&) {});
  }
  owner_.ended(shared_from_this());
}

}  // namespace spotmesh::objects
