#include "objects/peer_port.hpp"

#include <memory>
#include <utility>

#include <fmt/format.h>

#include "objects/core.hpp"
#include "objects/peer_bodies.hpp"
#include "objects/strand_link.hpp"

namespace spotmesh::objects {
namespace {

bool is_answer(PeerKind kind) {
  switch (kind) {
    case PeerKind::Failure:
    case PeerKind::Reply:
    case PeerKind::FenceAnswer:
    case PeerKind::CreateAnswer:
    case PeerKind::Ended:
    case PeerKind::Bound:
    case PeerKind::TopicChangeSeen:
    case PeerKind::InquiryAnswer:
      return true;
    default:
      return false;
  }
}

}  // namespace

PeerPort::PeerPort(Core& core) : core_(core), calls_(core) {}

void PeerPort::handle(PeerKind kind, Handler handler) {
  handlers_[kind] = {std::move(handler), false};
}

void PeerPort::handle_on_strand(PeerKind kind, Handler handler) {
  handlers_[kind] = {std::move(handler), true};
}

Result<void> PeerPort::send(const mesh::Peer& to, mesh::Lane lane, SharedBytes bytes) {
  if (peers_ != nullptr) return peers_->send(to, lane, std::move(bytes));
  return fail(
      Error::unavailable(fmt::format("this node has no mesh link to node {}", to.node.text)));
}

Result<std::uint64_t> PeerPort::call(const mesh::Peer& to, mesh::Lane lane, PeerKind kind,
                                     const flatbuffers::FlatBufferBuilder* body, Instant deadline,
                                     PeerAnswer answer) {
  const std::uint64_t call = calls_.open(to, deadline, std::move(answer));
  if (auto sent = send(to, lane, peer_bytes(kind, call, body)); !sent) {
    // The peer's run may have ended meanwhile, and the call with it.
    if (calls_.forget(call)) return fail(sent.error());
  }
  return call;
}

void PeerPort::answer(const PeerMessage& call, mesh::Lane lane, PeerKind kind,
                      const flatbuffers::FlatBufferBuilder* body) {
  if (call.call == 0) return;
  auto sent = send(call.from, lane, peer_bytes(kind, call.call, body));
  if (sent) return;
  core_.metrics.unsent_answers.add();
  // The caller learns it if Control has room, which is kept apart from the other lanes.
  if (lane != mesh::Lane::Control) {
    refuse(call, mesh::Lane::Control,
           Error::unavailable(fmt::format("node {} could not send its answer: {}",
                                          core_.identity.rid.text, sent.error().message())));
  }
}

void PeerPort::refuse(const PeerMessage& call, mesh::Lane lane, const Error& error) {
  flatbuffers::FlatBufferBuilder body;
  write_failure(body, error);
  answer(call, lane, PeerKind::Failure, &body);
}

void PeerPort::reply(const PeerMessage& call, const Result<Message>& outcome) {
  if (!outcome) return refuse(call, mesh::Lane::Messages, outcome.error());
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(body::CreateReply(builder, write_packet(builder, *outcome)));
  answer(call, mesh::Lane::Messages, PeerKind::Reply, &builder);
}

void PeerPort::end(const mesh::Peer& peer, const Error& reason) {
  if (peers_ != nullptr) peers_->end(peer, reason);
}

void PeerPort::drop(const Error& error) {
  core_.metrics.unsound_peer_messages.add();
  core_.log(LogLevel::Warning, error.message());
}

void PeerPort::run(const PeerMessage& message, mesh::Lane lane, const Handler& handler) {
  auto done = handler(message);
  if (done) return;
  drop(done.error());
  refuse(message, lane, done.error());
}

void PeerPort::on_message(const mesh::Peer& from, mesh::Lane lane, SharedBytes bytes) {
  auto opened = open_peer_message(from, std::move(bytes));
  if (!opened) return drop(opened.error());
  if (is_answer(opened->kind)) {
    if (!calls_.answer(*std::move(opened))) core_.metrics.late_replies.add();
    return;
  }
  const auto found = handlers_.find(opened->kind);
  if (found == handlers_.end()) {
    // Of a newer version, perhaps: it learns that this node does not do that.
    const Error error = unsound(*opened, "this node does not know its kind");
    drop(error);
    return refuse(*opened, lane, error);
  }
  if (opened->call != 0) {
    std::lock_guard lock(mutex_);
    heard_.try_emplace(from);
  }
  const Entry& entry = found->second;
  if (!entry.is_on_strand) return run(*opened, lane, entry.handler);
  const PeerMessage call = opened->without_bytes();
  const bool is_taken = post(from, [message = *std::move(opened), lane, &handler = entry.handler](
                                       Core& core) { core.peers->run(message, lane, handler); });
  if (is_taken) return;
  refuse(call, lane,
         Error::unavailable(fmt::format("node {} has {} messages of node {} to look at already",
                                        core_.identity.rid.text, jobs_per_peer, from.node.text)));
}

bool PeerPort::post(const mesh::Peer& peer, std::function<void(Core&)> job) {
  bool is_news = false;
  {
    std::lock_guard lock(mutex_);
    Heard& heard = heard_[peer];
    if (heard.jobs < jobs_per_peer) {
      ++heard.jobs;
    } else if (std::exchange(heard.has_overflowed, true)) {
      return false;
    } else {
      is_news = true;
    }
  }
  if (is_news) {
    core_.log(LogLevel::Warning,
              fmt::format("node {} says more than this node can look at: what comes on top of {} "
                          "messages is refused",
                          peer.node.text, jobs_per_peer));
    return false;
  }
  core_.link->post([peer, job = std::move(job)](Core& core) {
    job(core);
    core.peers->finished_job(peer);
  });
  return true;
}

bool PeerPort::has_heard(const mesh::Peer& peer) {
  std::lock_guard lock(mutex_);
  return heard_.contains(peer);
}

void PeerPort::finished_job(const mesh::Peer& peer) {
  std::lock_guard lock(mutex_);
  const auto heard = heard_.find(peer);
  if (heard == heard_.end()) return;
  if (--heard->second.jobs == 0) heard->second.has_overflowed = false;
}

Instant PeerPort::deadline_of(const PeerMessage& message, std::uint64_t remaining,
                              std::int64_t sent_at) {
  const Instant now = core_.now();
  std::lock_guard lock(mutex_);
  const auto heard = heard_.find(message.from);
  // Its session may have ended since.
  if (heard == heard_.end()) return deadline_after(now, remaining);
  return deadline_after(now, remaining) - heard->second.transit.delay(sent_at, now);
}

void PeerPort::on_ended(const mesh::Peer& peer, const Error& reason) {
  const Error error = Error::unavailable(
      fmt::format("the session with node {} is over: {}", peer.node.text, reason.message()));
  {
    std::lock_guard lock(mutex_);
    heard_.erase(peer);
  }
  for (const Ended& told : told_ended_) told(peer, error);
  calls_.end(peer, error);
}

PeerAnswer on_strand(Core& core, PeerAnswer answer) {
  return [link = core.link,
          answer = std::make_shared<PeerAnswer>(std::move(answer))](Result<PeerMessage> outcome) {
    link->post([answer, outcome = std::move(outcome)](Core&) { (*answer)(outcome); });
  };
}

}  // namespace spotmesh::objects
