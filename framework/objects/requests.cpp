#include "objects/requests.hpp"

#include <cassert>
#include <utility>

#include <fmt/format.h>

#include "objects/core.hpp"
#include "objects/wait_cycle.hpp"

namespace spotmesh::objects {

PendingRequest::PendingRequest(RequestTable& table, std::size_t shard, RequestInfo info)
    : table_(table),
      shard_(shard),
      info_(std::move(info)),
      completion_(runtime::make_completion<Result<Message>>()) {}

bool PendingRequest::complete(Result<Message> outcome) {
  const runtime::Ref<PendingRequest> self(this);
  if (!completion_->complete(std::move(outcome))) {
    table_.core_.metrics.late_replies.add();
    return false;
  }
  table_.close(*this);
  return true;
}

void PendingRequest::on_timer(Instant) {
  // Let go by hand: this arming's reference.
  const runtime::Ref<PendingRequest> self(this);
  release_ref();
  std::string text = info_.what + " got no reply in time";
  if (info_.asker.has_value()) {
    text += describe_cycle(table_.core_, *info_.asker, info_.target);
  }
  if (completion_->complete(fail(Error::deadline_exceeded(std::move(text))))) {
    table_.close(*this);
  }
}

RequestTable::RequestTable(Core& core) : core_(core) {}

RequestTable::~RequestTable() { assert(count_.load() == 0); }

Count& RequestTable::in_flight(const PendingRequest& request) {
  RequestsInFlight& all = core_.metrics.requests_in_flight;
  return request.info_.target.kind == TargetKind::Actor ? all.actor : all.spot;
}

Result<runtime::Ref<PendingRequest>> RequestTable::open(RequestInfo info, Instant deadline) {
  const std::size_t before = count_.fetch_add(1, std::memory_order_relaxed);
  if (before >= core_.config.requests_in_flight) {
    count_.fetch_sub(1, std::memory_order_relaxed);
    return fail(Error::capacity_exceeded(
        fmt::format("{} was not sent: {} requests of this node are unanswered", info.what,
                    core_.config.requests_in_flight)));
  }
  const runtime::Ref<PendingRequest> request(
      new PendingRequest(*this, before % shard_count, std::move(info)));
  in_flight(*request).add();
  Shard& shard = shards_[request->shard_];
  {
    std::lock_guard lock(shard.mutex);
    request->add_ref();  // the table's, let go in close()
    request->next_ = shard.first;
    if (shard.first != nullptr) shard.first->previous_ = request.get();
    shard.first = request.get();
  }
  request->add_ref();  // the timer's
  const bool is_never = runtime::fault_strikes(core_.seams.faults, "request.no-deadline");
  core_.seams.timers.arm(*request, is_never ? Instant::max() : deadline);
  return request;
}

void RequestTable::close(PendingRequest& request) {
  {
    Shard& shard = shards_[request.shard_];
    std::lock_guard lock(shard.mutex);
    if (request.previous_ != nullptr) request.previous_->next_ = request.next_;
    if (request.next_ != nullptr) request.next_->previous_ = request.previous_;
    if (shard.first == &request) shard.first = request.next_;
    request.previous_ = request.next_ = nullptr;
  }
  count_.fetch_sub(1, std::memory_order_relaxed);
  in_flight(request).add(-1);
  if (core_.seams.timers.cancel(request)) request.release_ref();
  request.release_ref();
}

std::vector<std::string> RequestTable::waited_for_by(const ObjectName& asker, std::size_t most) {
  std::vector<std::string> found;
  for (Shard& shard : shards_) {
    std::lock_guard lock(shard.mutex);
    for (const auto* request = shard.first; request != nullptr; request = request->next_) {
      if (found.size() < most && request->asker() == asker) found.push_back(request->info_.what);
    }
  }
  return found;
}

void RequestTable::complete_all(const Error& error) {
  for (Shard& shard : shards_) {
    while (true) {
      runtime::Ref<PendingRequest> request;
      {
        std::lock_guard lock(shard.mutex);
        request = runtime::Ref<PendingRequest>(shard.first);
      }
      if (!request) break;
      if (!request->completion_->complete(fail(error))) {
        // Somebody else is completing it and about to take it out.
        continue;
      }
      close(*request);
    }
  }
}

}  // namespace spotmesh::objects
