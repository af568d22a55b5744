#include "objects/peer_ends.hpp"

#include <utility>

#include <fmt/format.h>

#include "objects/core.hpp"
#include "objects/destructions.hpp"
#include "objects/envelope.hpp"
#include "objects/peer_bodies.hpp"
#include "objects/peer_port.hpp"

namespace spotmesh::objects {
namespace {

using flatbuffers::FlatBufferBuilder;

Result<bool> read_outcome(const Result<PeerMessage>& answer) {
  if (!answer) return fail(answer.error());
  if (answer->kind != PeerKind::Ended) return fail(unsound(*answer, "it does not answer the call"));
  const auto table = read_body<body::Ended>(*answer);
  if (!table) return fail(table.error());
  return (*table)->has_ended();
}

}  // namespace

PeerEnds::PeerEnds(Core& core) : core_(core) {
  core.peers->handle_on_strand(PeerKind::Destroy, [this](const PeerMessage& message) {
    return receive(message, TargetKind::Actor);
  });
  core.peers->handle_on_strand(PeerKind::Close, [this](const PeerMessage& message) {
    return receive(message, TargetKind::Spot);
  });
}

void PeerEnds::end(const mesh::Peer& owner, TargetKind kind, const std::string& id,
                   ObjectGeneration generation, Instant deadline,
                   std::function<void(Result<bool>)> done) {
  FlatBufferBuilder builder;
  const auto text = builder.CreateString(id);
  const Instant now = core_.now();
  builder.Finish(body::CreateEnd(builder, text, generation.value, remaining_time(deadline, now),
                                 now.since_origin.count()));
  auto call = core_.peers->call(
      owner, mesh::Lane::Control, kind == TargetKind::Actor ? PeerKind::Destroy : PeerKind::Close,
      &builder, deadline,
      on_strand(core_, [done](const Result<PeerMessage>& answer) { done(read_outcome(answer)); }));
  if (!call) done(fail(call.error()));
}

Result<void> PeerEnds::receive(const PeerMessage& message, TargetKind kind) {
  const auto table = read_body<body::End>(message);
  if (!table) return fail(table.error());
  const auto id = read_id(message, *(*table)->id(), kind);
  if (!id) return fail(id.error());
  if (message.call == 0) return fail(unsound(message, "it is no call"));
  const auto generation = read_generation(message, (*table)->generation());
  if (!generation) return fail(generation.error());
  const Instant deadline =
      core_.peers->deadline_of(message, (*table)->remaining(), (*table)->sent_at());
  if (core_.now() >= deadline) {
    core_.peers->refuse(
        message, mesh::Lane::Control,
        Error::deadline_exceeded(fmt::format(
            "{}: it was asked to end too late, and nothing was begun", target_name(kind, *id))));
    return {};
  }
  auto done = [this, call = message.without_bytes()](const Result<bool>& ended) {
    if (!ended) {
      return core_.peers->refuse(call, mesh::Lane::Control, as_seen_elsewhere(ended.error()));
    }
    FlatBufferBuilder builder;
    builder.Finish(body::CreateEnded(builder, *ended));
    core_.peers->answer(call, mesh::Lane::Control, PeerKind::Ended, &builder);
  };
  constexpr auto here = Destructions::Reach::ThisNode;
  if (kind == TargetKind::Actor) {
    const ActorRef ref{*ActorId::parse(*id), *generation, std::string(), core_.identity.rid};
    core_.destructions->destroy(ref, deadline, std::move(done), here);
  } else {
    const SpotRef ref{*SpotId::parse(*id), *generation, std::string(), core_.identity.rid};
    core_.destructions->close(ref, deadline, std::move(done), here);
  }
  return {};
}

}  // namespace spotmesh::objects
