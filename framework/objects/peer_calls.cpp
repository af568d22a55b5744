#include "objects/peer_calls.hpp"

#include "objects/core.hpp"
#include "objects/peer_bodies.hpp"

namespace spotmesh::objects {
namespace {

constexpr Duration sweep_interval = std::chrono::seconds(1);

}  // namespace

PeerCalls::~PeerCalls() { core_.seams.timers.cancel(*this); }

std::uint64_t PeerCalls::open(const mesh::Peer& to, Instant deadline, PeerAnswer answer) {
  const std::uint64_t call = last_.fetch_add(1, std::memory_order_relaxed) + 1;
  Shard& shard = shard_of(call);
  {
    std::lock_guard lock(shard.mutex);
    shard.calls.emplace(call, Open{to, deadline, std::move(answer)});
    shard.by_deadline.emplace(deadline, call);
  }
  count_.fetch_add(1);
  arm_if_idle();
  return call;
}

void PeerCalls::arm_if_idle() {
  if (is_armed_.load() || is_armed_.exchange(true)) return;
  core_.seams.timers.arm(*this, core_.now() + sweep_interval);
}

void PeerCalls::erase(Shard& shard, std::map<std::uint64_t, Open>::iterator call) {
  shard.by_deadline.erase({call->second.deadline, call->first});
  shard.calls.erase(call);
}

bool PeerCalls::forget(std::uint64_t call) {
  Shard& shard = shard_of(call);
  PeerAnswer answer;  // ends outside the lock
  std::lock_guard lock(shard.mutex);
  const auto found = shard.calls.find(call);
  if (found == shard.calls.end()) return false;
  answer = std::move(found->second.answer);
  erase(shard, found);
  count_.fetch_sub(1);
  return true;
}

bool PeerCalls::answer(PeerMessage message) {
  PeerAnswer answer;
  {
    Shard& shard = shard_of(message.call);
    std::lock_guard lock(shard.mutex);
    const auto found = shard.calls.find(message.call);
    if (found == shard.calls.end() || found->second.to != message.from) return false;
    answer = std::move(found->second.answer);
    erase(shard, found);
    count_.fetch_sub(1);
  }
  if (message.kind == PeerKind::Failure) {
    answer(fail(read_failure(message)));
  } else {
    answer(std::move(message));
  }
  return true;
}

void PeerCalls::end(const mesh::Peer& peer, const Error& reason) {
  for (Shard& shard : shards_) {
    std::vector<PeerAnswer> ended;
    {
      std::lock_guard lock(shard.mutex);
      for (auto call = shard.calls.begin(); call != shard.calls.end();) {
        const auto here = call++;
        if (here->second.to != peer) continue;
        ended.push_back(std::move(here->second.answer));
        erase(shard, here);
      }
    }
    finish(ended, reason);
  }
}

void PeerCalls::end_all(const Error& reason) {
  for (Shard& shard : shards_) {
    std::vector<PeerAnswer> ended;
    {
      std::lock_guard lock(shard.mutex);
      for (auto& [call, open] : shard.calls) ended.push_back(std::move(open.answer));
      shard.calls.clear();
      shard.by_deadline.clear();
    }
    finish(ended, reason);
  }
}

void PeerCalls::on_timer(Instant now) {
  std::vector<PeerAnswer> late;
  for (Shard& shard : shards_) {
    std::lock_guard lock(shard.mutex);
    while (!shard.by_deadline.empty() && shard.by_deadline.begin()->first <= now) {
      const auto call = shard.calls.find(shard.by_deadline.begin()->second);
      late.push_back(std::move(call->second.answer));
      erase(shard, call);
    }
  }
  count_.fetch_sub(late.size());
  // What they keep may belong to the strand.
  if (!late.empty()) core_.strand.post([late = std::move(late)] {});
  is_armed_.store(false);
  if (count_.load() > 0) arm_if_idle();
}

void PeerCalls::finish(std::vector<PeerAnswer>& ended, const Error& reason) {
  count_.fetch_sub(ended.size());
  for (PeerAnswer& answer : ended) answer(fail(reason));
}

}  // namespace spotmesh::objects
