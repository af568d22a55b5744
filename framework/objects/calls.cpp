#include <spotmesh/calls.hpp>

#include <utility>

#include <fmt/format.h>

#include <spotmesh/limits.hpp>

#include "objects/actor_cell.hpp"
#include "objects/caller.hpp"
#include "objects/core.hpp"
#include "objects/envelope.hpp"
#include "objects/registry.hpp"
#include "objects/requests.hpp"
#include "objects/router.hpp"
#include "objects/spot_cell.hpp"
#include "objects/turn_scope.hpp"
#include "objects/waiting.hpp"

namespace spotmesh {
namespace {

using objects::Envelope;
using objects::TargetKind;
using objects::Waiting;

Result<void> check_target(const Envelope& envelope) {
  if (auto valid =
          validate_id(envelope.id, envelope.kind == TargetKind::Actor ? "ActorId" : "SpotId");
      !valid) {
    return valid;
  }
  // Named only when it fails: what a call is called costs more than the call.
  auto fits = objects::check_message(envelope.message);
  if (fits) return {};
  return fail(
      Error(fits.error().kind(), fmt::format("{}: {}", envelope.what(), fits.error().message())));
}

// A request that could only wait for the turn that makes it, or for the barrier behind it.
Result<void> check_no_self_wait(objects::Core& core, const runtime::Turn& turn,
                                const Envelope& envelope, const std::string& what,
                                Waiting waiting) {
  runtime::Ref<objects::ActorCell> actor;
  runtime::Ref<objects::SpotCell> spot;
  runtime::Mailbox* mailbox = nullptr;
  if (envelope.kind == TargetKind::Actor) {
    actor = core.registry->find_actor(envelope.id);
    if (actor) mailbox = &actor->mailbox();
  } else {
    spot = core.registry->find_spot(envelope.id);
    if (spot) mailbox = &spot->mailbox();
  }
  if (mailbox == nullptr) return {};
  const auto* scope = objects::ObjectScope::current();
  if (actor && scope != nullptr && scope->has_barrier_on(*actor)) {
    return fail(Error::invalid_operation(
        what + " would wait behind the Join that this handler has registered for it"));
  }
  // A Spot's handler that yields leaves its mailbox; an Actor's keeps it.
  const bool is_own_actor =
      actor && (mailbox == &turn.mailbox() || (scope != nullptr && scope->actor() == actor.get()));
  const bool waits_on_own_gate = waiting == Waiting::KeepTurn && mailbox->runs_on(turn.gate());
  if (is_own_actor || waits_on_own_gate) {
    return fail(Error::invalid_operation(
        what + " would wait for this very turn: send it, or yield where the two share a gate"));
  }
  return {};
}

// The Actor or Spot whose turn it is; nothing for a session's.
std::optional<objects::ObjectName> asker_of(const runtime::Turn& turn) {
  const auto* scope = objects::ObjectScope::current();
  if (scope == nullptr) return {};
  if (scope->actor() != nullptr && &turn.mailbox() == &scope->actor()->mailbox()) {
    return objects::ObjectName{TargetKind::Actor, scope->actor()->id().text()};
  }
  if (scope->spot() == nullptr) return {};
  return objects::ObjectName{TargetKind::Spot, scope->spot()->id().text()};
}

}  // namespace

void CallState::note_set_twice(std::string_view option) {
  if (!misuse_.has_value()) {
    misuse_ = Error::invalid_operation(fmt::format("the option '{}' is set twice", option));
  }
}

Result<void> CallState::take_submission() {
  if (is_submitted_) {
    return fail(Error::invalid_operation("this call was submitted already; make a new one"));
  }
  is_submitted_ = true;
  if (misuse_.has_value()) return fail(*misuse_);
  if (timeout_.has_value() && *timeout_ <= Duration::zero()) {
    return fail(Error::invalid_operation("a timeout must be longer than nothing"));
  }
  return {};
}

SendCall& SendCall::metadata(std::string key, std::string value) & {
  message_.metadata().emplace_back(std::move(key), std::move(value));
  return *this;
}

SendCall&& SendCall::metadata(std::string key, std::string value) && {
  message_.metadata().emplace_back(std::move(key), std::move(value));
  return std::move(*this);
}

Task<Result<void>> SendCall::submit() {
  if (auto taken = take_submission(); !taken) return objects::failed<void>(taken.error());
  Envelope envelope{.kind = kind_, .id = std::move(id_), .message = std::move(message_)};
  // The way of most messages. An id under which something lives is a sound one.
  if (caller_->may_call() && objects::check_message(envelope.message)) {
    if (auto pushed = caller_->core().router->submit_here(envelope)) {
      return objects::ready(*std::move(pushed));
    }
  }
  if (auto valid = check_target(envelope); !valid) return objects::failed<void>(valid.error());
  if (!caller_->may_call()) {
    return objects::failed<void>(caller_->require_turn(envelope.what()).error());
  }
  auto accepted = runtime::make_completion<Result<void>>();
  envelope.accepted = accepted;
  caller_->core().router->submit(std::move(envelope));
  return objects::wait_for(std::move(accepted), Waiting::KeepTurn);
}

void RawRequestCall::add_metadata(std::string key, std::string value) {
  message_.metadata().emplace_back(std::move(key), std::move(value));
}

namespace {

Task<Result<Message>> await_reply(runtime::Ref<objects::PendingRequest> request, Waiting waiting) {
  if (waiting == Waiting::YieldGate) co_return co_await request->completion().yield();
  co_return co_await request->completion().wait();
}

}  // namespace

Task<Result<Message>> RawRequestCall::submit(Waiting waiting) {
  if (auto taken = take_submission(); !taken) return objects::failed<Message>(taken.error());
  objects::Core& core = caller_->core();
  Envelope envelope{.kind = kind_, .id = id_, .message = std::move(message_)};
  if (auto valid = check_target(envelope); !valid) return objects::failed<Message>(valid.error());
  const std::string what = fmt::format("request '{}' to {}", envelope.message.packet_name(),
                                       objects::target_name(kind_, id_));
  auto turn = caller_->require_turn(what);
  if (!turn) return objects::failed<Message>(turn.error());
  if (waiting == Waiting::YieldGate) {
    if (auto may = objects::check_may_yield(**turn, what); !may) {
      return objects::failed<Message>(may.error());
    }
  }
  if (auto safe = check_no_self_wait(core, **turn, envelope, what, waiting); !safe) {
    return objects::failed<Message>(safe.error());
  }
  envelope.deadline = (*turn)->now() + timeout_.value_or(limits::default_operation_timeout);
  auto request = core.requests->open(
      {.what = what, .asker = asker_of(**turn), .target = {kind_, id_}}, *envelope.deadline);
  if (!request) return objects::failed<Message>(request.error());
  envelope.reply = objects::ReplySink(*request);
  core.router->submit(std::move(envelope));
  return await_reply(*std::move(request), waiting);
}

}  // namespace spotmesh

namespace spotmesh::objects {

Result<void> check_may_yield(const runtime::Turn& turn, std::string_view what) {
  const ObjectScope* scope = ObjectScope::current();
  const bool may = scope != nullptr && scope->kind() == ObjectScope::Kind::Handler &&
                   scope->spot() != nullptr && scope->spot()->shares_gate() &&
                   &turn.gate() == &scope->spot()->gate();
  if (may) return {};
  return fail(Error::invalid_operation(fmt::format(
      "{} cannot yield here: only handlers on the gate of a SpotWide User Spot can", what)));
}

}  // namespace spotmesh::objects
