// PerishableFrames: pushes that a client which does not keep up may miss.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include <spotmesh/bytes.hpp>
#include <spotmesh/packet.hpp>
#include <spotmesh/time.hpp>

#include "stream/stream_metrics.hpp"

namespace spotmesh::stream {

// A push whose packet says in its schema what may be missed of it.
struct PerishablePush {
  PacketId packet;
  bool only_latest = false;  // a newer one of the packet takes its place
  Duration drop_after{};     // not worth sending after that; 0: always
};

// What waits here has not been given to the connection, so it can still be replaced or dropped. One
// packet's pushes stay in their order.
//
// For one thread at a time; `metrics` outlives it.
class PerishableFrames {
 public:
  PerishableFrames(std::size_t most_bytes, StreamMetrics& metrics)
      : most_bytes_(most_bytes), metrics_(metrics) {}

  bool empty() const { return waiting_ == nullptr; }
  std::size_t bytes() const { return bytes_; }
  // Beyond `most_bytes` the oldest go to `out`, to be sent all the same.
  void keep(const PerishablePush& push, SharedBytes frame, Instant now,
            std::vector<SharedBytes>& out);
  // Gives all that is still worth sending to `out`.
  void take(Instant now, std::vector<SharedBytes>& out);
  void clear();

 private:
  struct Waiting {
    PacketId packet;
    bool only_latest = false;
    std::optional<Instant> stale_at;
    SharedBytes frame;
  };

  void take_first(Instant now, std::vector<SharedBytes>& out);

  const std::size_t most_bytes_;
  StreamMetrics& metrics_;
  std::unique_ptr<std::deque<Waiting>> waiting_;  // null when nothing waits: most have none ever
  std::size_t bytes_ = 0;
};

}  // namespace spotmesh::stream
