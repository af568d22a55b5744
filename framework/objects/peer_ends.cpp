#include "objects/peer_ends.hpp"

#include <utility>

#include <fmt/format.h>

#include "objects/core.hpp"
#include "objects/destructions.hpp"
#include "objects/envelope.hpp"
#include "objects/object_name.hpp"
#include "objects/peer_bodies.hpp"
#include "objects/peer_port.hpp"
#include "objects/store_port.hpp"

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

struct PeerEnds::Waiting {
  Waiting(Core& core, Done done, std::function<void()> late)
      : done(std::move(done)), timer(core, std::move(late)) {}
  const Done done;
  StrandTimer timer;
};

PeerEnds::~PeerEnds() = default;

PeerEnds::PeerEnds(Core& core) : core_(core) {
  core.peers->handle_on_strand(PeerKind::Destroy, [this](const PeerMessage& message) {
    return receive(message, TargetKind::Actor);
  });
  core.peers->handle_on_strand(PeerKind::Close, [this](const PeerMessage& message) {
    return receive(message, TargetKind::Spot);
  });
}

void PeerEnds::end(const mesh::Peer& owner, TargetKind kind, const std::string& id,
                   ObjectGeneration generation, Instant deadline, Done done) {
  FlatBufferBuilder builder;
  const auto text = builder.CreateString(id);
  const Instant now = core_.now();
  builder.Finish(body::CreateEnd(builder, text, generation.value, remaining_time(deadline, now),
                                 now.since_origin.count()));
  const std::uint64_t number = ++begun_;
  const auto call = core_.peers->call(
      owner, mesh::Lane::Control, kind == TargetKind::Actor ? PeerKind::Destroy : PeerKind::Close,
      &builder, Instant::max(), on_strand(core_, [this, number](const Result<PeerMessage>& answer) {
        finish(number, read_outcome(answer));
      }));
  if (!call) return done(fail(call.error()));
  const auto late = [this, number, call = *call, name = target_name(kind, id)] {
    core_.peers->forget(call);
    finish(number, fail(Error::deadline_exceeded("the end of " + name +
                                                 " has not come yet; it may still do so")));
  };
  auto& waiting = waiting_[number];
  waiting = std::make_unique<Waiting>(core_, std::move(done), late);
  waiting->timer.arm(deadline);
}

void PeerEnds::finish(std::uint64_t number, Result<bool> result) {
  const auto ended = waiting_.extract(number);
  if (ended) ended.mapped()->done(std::move(result));
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
