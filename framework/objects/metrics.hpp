// Counters of a node's object side; read at any time from any thread.
#pragma once

#include <atomic>
#include <cstdint>

namespace spotmesh::objects {

class Count {
 public:
  void add(std::int64_t by = 1) { value_.fetch_add(by, std::memory_order_relaxed); }
  std::int64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::int64_t> value_{0};
};

struct Metrics {
  // What became of messages that reached a mailbox.
  Count handled;
  Count handler_errors;  // the handler returned an Error
  Count handler_throws;  // … or threw
  Count no_handler;
  Count decode_failures;
  Count unencodable_replies;
  Count expired_requests;  // past their deadline when their turn came
  Count refused_messages;  // waited in a mailbox that was closed

  Count requests_in_flight;  // goes down, too
  Count late_replies;
  Count undelivered_sends;  // a send that was to wait for a resolve and found no receiver
  Count stale_refused;    // session payload and unbinds of a binding that is no longer the present
  Count callback_throws;  // lifecycle callbacks and timers
  Count store_reads;
  Count store_commits;
};

}  // namespace spotmesh::objects
