#include "objects/creation_away.hpp"

#include <utility>

#include <fmt/format.h>

#include "objects/creation_bodies.hpp"
#include "objects/envelope.hpp"
#include "objects/lease_driver.hpp"
#include "objects/node_directory.hpp"
#include "objects/peer_bodies.hpp"
#include "objects/peer_port.hpp"

namespace spotmesh::objects {

CreationAway::CreationAway(Core& core, Owner& owner, const CreateSpec& spec, OperationId operation,
                           Placing& placing, location::OwnerStamp target)
    : MachineDriver(core),
      owner_(owner),
      spec_(spec),
      operation_(operation),
      placing_(placing),
      target_(std::move(target)),
      machine_(fmt::format("creation of {}", target_name(spec.kind, spec.id)), spec.deadline,
               core.seams.random) {}

void CreationAway::perform(durable::FindRoute& action) {
  if (action.is_bound || std::exchange(is_placed_, false)) return feed(durable::RouteFound{});
  auto place = placing_.choose();
  if (!place && placing_.was_turned_away()) return feed(durable::Failed{place.error()});
  if (!place) return feed(durable::NoRoute{place.error()});
  if (!place->has_value()) return feed(durable::Settled{});
  target_ = **std::move(place);
  feed(durable::RouteFound{});
}

void CreationAway::perform(durable::Send&) {
  core_.lease->watch(target_);
  flatbuffers::FlatBufferBuilder body;
  write_create(body, operation_, spec_, core_.now());
  auto call = core_.peers->call(
      target(), mesh::Lane::Control, PeerKind::Create, &body, spec_.deadline,
      on_strand(core_,
                [self = shared_from_this(), to = target()](const Result<PeerMessage>& answer) {
                  if (self->target() == to) self->on_answer(answer);
                }));
  if (call) {
    call_ = *call;
    return feed(durable::Sent{});
  }
  if (call.error().kind() == ErrorKind::Unavailable) return feed(durable::NotSent{call.error()});
  feed(durable::Failed{call.error()});
}

void CreationAway::perform(durable::Withdraw&) {
  core_.peers->forget(call_);
  flatbuffers::FlatBufferBuilder body;
  write_operation(body, operation_);
  // A target that does not hear of it comes to its deadline all the same.
  const auto sent =
      core_.peers->send(target(), mesh::Lane::Control, peer_bytes(PeerKind::Withdraw, 0, &body));
  if (!sent) core_.log(LogLevel::Info, sent.error().message());
}

void CreationAway::perform(durable::Finished& action) {
  if (action.error.has_value()) return owner_.ended(fail(*std::move(action.error)));
  if (error_.has_value()) return owner_.ended(fail(*std::move(error_)));
  if (reply_.has_value()) return owner_.ended(*std::move(reply_));
  owner_.placed_here();
}

void CreationAway::on_answer(const Result<PeerMessage>& answer) {
  // It was on its way to the strand already, and whom this was done for may be gone.
  if (machine_.state() == DurableMachine::State::Done) return;
  if (answer && answer->kind == PeerKind::CreateAnswer) return on_create_answer(*answer);
  if (answer) return feed(durable::Failed{unsound(*answer, "it does not answer the call")});
  if (answer.error().kind() == ErrorKind::Unavailable) return on_lost(answer.error());
  // Which the machine sees to by itself, to the instant.
  if (answer.error().kind() == ErrorKind::DeadlineExceeded) return;
  feed(durable::Failed{answer.error()});
}

void CreationAway::on_lost(const Error& error) {
  const location::NodeDescriptor* node = core_.directory->find(target());
  const bool is_listed = node != nullptr && node->state != location::HostState::Stopped;
  // A store that has failed over may have forgotten a node that is there.
  if (core_.peers->is_over(target()) || (!is_listed && !core_.peers->has_heard(target())))
    return feed(durable::RunOver{error});
  feed(durable::Lost{error});
}

void CreationAway::on_create_answer(const PeerMessage& answer) {
  auto read = read_create_answer(answer, core_.application);
  if (!read) return feed(durable::Failed{read.error()});
  if (!read->is_turned_away) {
    if (read->result) {
      reply_ = *std::move(read->result);
    } else {
      error_ = read->result.error();
    }
    return feed(durable::Answered{});
  }
  placing_.turn_away(target_.rid, read->result.error());
  feed(durable::TurnedAway{read->result.error()});
}

}  // namespace spotmesh::objects
