// RequestTable: the requests of this node that wait for their one reply.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <spotmesh/error.hpp>
#include <spotmesh/message.hpp>
#include <spotmesh/time.hpp>

#include "base/count.hpp"
#include "base/pool.hpp"
#include "objects/object_name.hpp"
#include "runtime/completion.hpp"
#include "runtime/ref_counted.hpp"
#include "runtime/timers.hpp"

namespace spotmesh::objects {

class Core;
class RequestTable;

struct RequestInfo {
  std::string what;                 // for errors ("request 'p.Ask' to Actor 'x'")
  std::optional<ObjectName> asker;  // whose turn waits, if it is an Actor's or a Spot's
  ObjectName target;
};

// One request. It ends with the first of reply, error, deadline and shutdown; whatever comes later
// is dropped and counted.
class PendingRequest final : public runtime::RefCounted, private runtime::TimerEntry {
 public:
  // Any thread. Whether it was the first.
  bool complete(Result<Message> outcome);
  runtime::Completion<Result<Message>>& completion() { return *completion_; }
  const std::optional<ObjectName>& asker() const { return info_.asker; }

  static void* operator new(std::size_t size) { return pool_allocate(size); }
  static void operator delete(void* block, std::size_t size) noexcept { pool_free(block, size); }

 private:
  friend class RequestTable;
  PendingRequest(RequestTable& table, std::size_t shard, RequestInfo info);
  ~PendingRequest() override = default;
  void on_timer(Instant now) override;

  RequestTable& table_;
  // Not of its address: in what order all are ended must not depend on where memory was free.
  const std::size_t shard_;
  const RequestInfo info_;
  const runtime::Ref<runtime::Completion<Result<Message>>> completion_;
  PendingRequest* previous_ = nullptr;  // of its shard
  PendingRequest* next_ = nullptr;
};

class RequestTable {
 public:
  explicit RequestTable(Core& core);
  // Every request has been completed and every timer has been cancelled: complete_all() was called.
  ~RequestTable();

  // CapacityExceeded past ObjectsConfig::requests_in_flight.
  Result<runtime::Ref<PendingRequest>> open(RequestInfo info, Instant deadline);
  // Up to `most` requests whose reply a turn of `asker` waits for, as RequestInfo::what. Any
  // thread; looks at all of them, a part at a time.
  std::vector<std::string> waited_for_by(const ObjectName& asker, std::size_t most);
  // Ends all that wait, with the error.
  void complete_all(const Error& error);

 private:
  friend class PendingRequest;
  struct Shard {
    std::mutex mutex;
    PendingRequest* first = nullptr;
  };
  static constexpr std::size_t shard_count = 16;

  Count& in_flight(const PendingRequest& request);
  // The request has been completed; the table lets go of it.
  void close(PendingRequest& request);

  Core& core_;
  std::array<Shard, shard_count> shards_;
  std::atomic<std::size_t> count_{0};
};

}  // namespace spotmesh::objects
