// EventFeed: what happens in the whole cluster, for one who watches. The messages are in
// framework/docs/observability.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "host/cluster_view.hpp"

namespace spotmesh::host {

struct FeedOptions {
  bool tells_rows = true;  // in a snapshot: the Spots, Actors and sessions, and not the nodes alone
  std::string client;      // who watches, for logs of other nodes
};

// First a snapshot, then events in the order in which each node tells them, numbered from 1.
// Whoever does not read is not told more: the nodes keep their events for a while, and when some
// have been lost he is told of a gap, and nothing more until he asks for a new snapshot. So at most
// `queued_bytes` and one answer of each node wait here.
class EventFeed {
 public:
  // `wake`, from any thread: next() may have something.
  EventFeed(const ClusterView& cluster, FeedOptions options, std::function<void()> wake);
  ~EventFeed();  // end()
  EventFeed(const EventFeed&) = delete;
  EventFeed& operator=(const EventFeed&) = delete;

  // From one thread at a time. Nothing comes after end().
  std::optional<std::string> next();  // a message of JSON; nothing: none at present
  void ask_snapshot();
  void end();

  static constexpr std::size_t queued_bytes = 512 * 1024;

 private:
  class Run;
  // What the run says and the reader takes.
  struct Outbox {
    std::mutex mutex;
    std::deque<std::string> messages;
    std::size_t bytes = 0;
    bool is_full = false;  // the run waits until there is room
    std::function<void()> wake;
  };

  const ClusterView cluster_;
  const std::shared_ptr<Outbox> outbox_;
  std::shared_ptr<Run> run_;
};

}  // namespace spotmesh::host
