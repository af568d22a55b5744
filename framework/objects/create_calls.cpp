#include <spotmesh/create_calls.hpp>

#include <utility>
#include <vector>

#include <fmt/format.h>

#include <spotmesh/ids.hpp>
#include <spotmesh/limits.hpp>

#include "base/random.hpp"
#include "objects/caller.hpp"
#include "objects/core.hpp"
#include "objects/creations.hpp"
#include "objects/envelope.hpp"
#include "objects/spot_cell.hpp"
#include "objects/waiting.hpp"

namespace spotmesh {
namespace {

using objects::CreateReply;
using objects::CreateSpec;
using objects::TargetKind;
using objects::Waiting;

struct CreateOptions {
  TargetKind kind;
  std::string id;
  std::string type;
  bool accepts_existing;
  const std::optional<std::string>& mesh;
  std::optional<Message>& request;
  Duration timeout;
};

Result<CreateSpec> spec_of(const objects::Core& core, CreateOptions options,
                           const runtime::Turn& turn) {
  const std::string_view id_name = options.kind == TargetKind::Actor ? "ActorId" : "SpotId";
  if (auto valid = validate_id(options.id, id_name); !valid) return fail(valid.error());
  auto type = StableType::parse(options.type);
  if (!type) return fail(type.error());
  Message request = std::move(options.request).value_or(Message());
  if (request.payload().size() > limits::create_request_bytes) {
    return fail(Error::invalid_operation(
        fmt::format("the creation request of '{}' has {} bytes; {} are allowed", options.id,
                    request.payload().size(), limits::create_request_bytes)));
  }
  auto mesh = core.application.choose_mesh(options.mesh);
  if (!mesh) return fail(mesh.error());
  return CreateSpec{.kind = options.kind,
                    .id = std::move(options.id),
                    .type = *std::move(type),
                    .mesh = *mesh,
                    .accepts_existing = options.accepts_existing,
                    .request = std::move(request),
                    .deadline = turn.now() + options.timeout,
                    .operation = {}};
}

// on_create_actor needs the Entry Spot's gate: a turn that keeps it would wait for itself.
Result<void> check_gate(const objects::Core& core, const CreateSpec& spec,
                        const runtime::Turn& turn) {
  const auto entry = core.entry_spot(*spec.mesh);
  if (spec.kind != TargetKind::Actor || !entry || &turn.gate() != &entry->gate()) return {};
  return fail(Error::invalid_operation(fmt::format(
      "creating Actor '{}' would wait for on_create_actor, which needs the gate of this very turn",
      spec.id)));
}

Task<Result<CreateReply>> start_creation(objects::Caller& caller, CreateOptions options,
                                         Waiting waiting) {
  const std::string what =
      fmt::format("creation of {}", objects::target_name(options.kind, options.id));
  auto turn = caller.require_turn(what);
  if (!turn) return objects::failed<CreateReply>(turn.error());
  if (waiting == Waiting::YieldGate) {
    if (auto may = objects::check_may_yield(**turn, what); !may) {
      return objects::failed<CreateReply>(may.error());
    }
  }
  objects::Core& core = caller.core();
  auto spec = spec_of(core, std::move(options), **turn);
  if (!spec) return objects::failed<CreateReply>(spec.error());
  if (auto safe = check_gate(core, *spec, **turn); !safe) {
    return objects::failed<CreateReply>(safe.error());
  }
  auto completion = runtime::make_completion<Result<CreateReply>>();
  core.creations->start(*std::move(spec), [completion](objects::CreateEnd end) {
    completion->complete(std::move(end.result));
  });
  return objects::wait_for(std::move(completion), waiting);
}

Task<Result<CreateResult>> actor_result(ActorId id, Task<Result<CreateReply>> pending) {
  Result<CreateReply> reply = co_await std::move(pending);
  if (!reply) co_return fail(reply.error());
  const ActorRef ref{std::move(id), reply->generation, reply->mesh, reply->node};
  switch (reply->kind) {
    case CreateReply::Kind::Created:
      co_return CreateResult(Created{ref, std::move(reply->reply)});
    case CreateReply::Kind::Existing:
      co_return CreateResult(Existing{ref});
    case CreateReply::Kind::Rejected:
      break;
  }
  co_return CreateResult(Rejected{std::move(reply->reply)});
}

Task<Result<SpotCreateResult>> spot_result(SpotId id, Task<Result<CreateReply>> pending) {
  Result<CreateReply> reply = co_await std::move(pending);
  if (!reply) co_return fail(reply.error());
  const SpotRef ref{std::move(id), reply->generation, reply->mesh, reply->node};
  switch (reply->kind) {
    case CreateReply::Kind::Created:
      co_return SpotCreateResult(SpotCreated{ref, std::move(reply->reply)});
    case CreateReply::Kind::Existing:
      co_return SpotCreateResult(SpotExisting{ref});
    case CreateReply::Kind::Rejected:
      break;
  }
  co_return SpotCreateResult(Rejected{std::move(reply->reply)});
}

}  // namespace

ActorCreateCall& ActorCreateCall::in_mesh(std::string name) & {
  set_once(mesh_, std::move(name), "in_mesh");
  return *this;
}
ActorCreateCall&& ActorCreateCall::in_mesh(std::string name) && {
  return std::move(in_mesh(std::move(name)));
}
ActorCreateCall& ActorCreateCall::request(Message request) & {
  set_once(request_, std::move(request), "request");
  return *this;
}
ActorCreateCall&& ActorCreateCall::request(Message message) && {
  return std::move(request(std::move(message)));
}
ActorCreateCall& ActorCreateCall::timeout(Duration timeout) & {
  set_once(timeout_, timeout, "timeout");
  return *this;
}
ActorCreateCall&& ActorCreateCall::timeout(Duration duration) && {
  return std::move(timeout(duration));
}

Task<Result<CreateResult>> ActorCreateCall::submit() { return start(Waiting::KeepTurn); }
Task<Result<CreateResult>> ActorCreateCall::yield() { return start(Waiting::YieldGate); }

Task<Result<CreateResult>> ActorCreateCall::start(Waiting waiting) {
  if (auto taken = take_submission(); !taken) {
    return objects::failed<CreateResult>(taken.error());
  }
  auto id = ActorId::parse(id_);
  if (!id) return objects::failed<CreateResult>(id.error());
  return actor_result(
      *std::move(id),
      start_creation(*caller_,
                     {.kind = TargetKind::Actor,
                      .id = id_,
                      .type = type_,
                      .accepts_existing = accepts_existing_,
                      .mesh = mesh_,
                      .request = request_,
                      .timeout = timeout_.value_or(limits::default_operation_timeout)},
                     waiting));
}

SpotCreateCall& SpotCreateCall::in_mesh(std::string name) & {
  set_once(mesh_, std::move(name), "in_mesh");
  return *this;
}
SpotCreateCall&& SpotCreateCall::in_mesh(std::string name) && {
  return std::move(in_mesh(std::move(name)));
}
SpotCreateCall& SpotCreateCall::request(Message request) & {
  set_once(request_, std::move(request), "request");
  return *this;
}
SpotCreateCall&& SpotCreateCall::request(Message message) && {
  return std::move(request(std::move(message)));
}
SpotCreateCall& SpotCreateCall::timeout(Duration timeout) & {
  set_once(timeout_, timeout, "timeout");
  return *this;
}
SpotCreateCall&& SpotCreateCall::timeout(Duration duration) && {
  return std::move(timeout(duration));
}

Task<Result<SpotCreateResult>> SpotCreateCall::submit() { return start(Waiting::KeepTurn); }
Task<Result<SpotCreateResult>> SpotCreateCall::yield() { return start(Waiting::YieldGate); }

Task<Result<SpotCreateResult>> SpotCreateCall::start(Waiting waiting) {
  if (auto taken = take_submission(); !taken) {
    return objects::failed<SpotCreateResult>(taken.error());
  }
  if (issues_id_) {
    Random& random = caller_->core().seams.random;
    const std::uint64_t high = random.next_u64();
    id_ = uuid_v4(high, random.next_u64());
  }
  auto id = SpotId::parse(id_);
  if (!id) return objects::failed<SpotCreateResult>(id.error());
  return spot_result(
      *std::move(id),
      start_creation(*caller_,
                     {.kind = TargetKind::Spot,
                      .id = id_,
                      .type = type_,
                      .accepts_existing = !issues_id_,
                      .mesh = mesh_,
                      .request = request_,
                      .timeout = timeout_.value_or(limits::default_operation_timeout)},
                     waiting));
}

}  // namespace spotmesh
