// The two ends of a lane: numbered pieces of messages, sent until they are acknowledged, taken
// once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

#include <spotmesh/bytes.hpp>
#include <spotmesh/error.hpp>

#include "runtime/faults.hpp"
#include "wire/mesh_frame.hpp"

namespace spotmesh::mesh {

// What an acknowledgement has freed.
struct LaneCredit {
  std::size_t messages = 0;
  std::size_t bytes = 0;
};

class SendLane {
 public:
  explicit SendLane(std::uint8_t lane) : lane_(lane) {}

  // Its pieces follow those of the messages before.
  void add(SharedBytes message);

  bool has_unwritten() const { return written_ < last_; }
  // Written on the present connection and not acknowledged.
  std::size_t bytes_on_the_way() const { return bytes_on_the_way_; }
  bool is_empty() const { return messages_.empty(); }
  // The next piece; there is one. It lies in the message, which stays until it is acknowledged.
  wire::MeshData next();
  // Whether next() has given this piece on an earlier connection already.
  bool is_resent(const wire::MeshData& piece) const { return piece.sequence <= furthest_before_; }

  // All pieces up to `received` have arrived. ProtocolError when they cannot have.
  Result<LaneCredit> acknowledge(std::uint64_t received);
  // Whether the peer can have received so much and no more.
  bool can_resume_after(std::uint64_t received) const {
    return received >= acknowledged_ && received <= furthest_;
  }
  // A new connection: what lies behind `received` is written again.
  LaneCredit resume(std::uint64_t received);
  // A defect for tests: writes all again that was not acknowledged, received or not.
  void resume_from_acknowledged();

  std::uint64_t acknowledged() const { return acknowledged_; }
  std::uint64_t written() const { return written_; }
  std::uint64_t furthest() const { return furthest_; }
  std::uint64_t last() const { return last_; }

 private:
  struct Queued {
    SharedBytes message;
    std::uint64_t first = 0;  // the number of its first piece
  };

  LaneCredit drop_up_to(std::uint64_t received);
  void forget_connection();

  std::uint8_t lane_;
  std::deque<Queued> messages_;
  std::size_t next_message_ = 0;  // the one that holds the next piece to be written
  std::uint64_t acknowledged_ = 0;
  std::uint64_t written_ = 0;          // on the present connection
  std::uint64_t furthest_ = 0;         // on any connection
  std::uint64_t furthest_before_ = 0;  // on any earlier connection
  std::uint64_t last_ = 0;
  std::size_t bytes_on_the_way_ = 0;
};

class ReceiveLane {
 public:
  struct Taken {
    bool is_duplicate = false;
    std::optional<SharedBytes> message;  // this piece was its last
  };

  // ProtocolError for a piece after a gap, and for one that makes its message too long.
  Result<Taken> take(const wire::MeshData& piece, runtime::Faults* faults);

  std::uint64_t received() const { return received_; }
  std::size_t partial_bytes() const { return partial_.size(); }

 private:
  std::uint64_t received_ = 0;
  Bytes partial_;
};

}  // namespace spotmesh::mesh
