#include "mesh/lanes.hpp"

#include <algorithm>
#include <cassert>

#include <fmt/format.h>

#include <spotmesh/limits.hpp>

namespace spotmesh::mesh {
namespace {

constexpr std::size_t piece_bytes = limits::mesh_piece_bytes;

// An empty message is one empty piece.
std::uint64_t pieces_of(const SharedBytes& message) {
  return std::max<std::uint64_t>(1, (message.size() + piece_bytes - 1) / piece_bytes);
}

}  // namespace

void SendLane::add(SharedBytes message) {
  assert(message.size() <= limits::mesh_message_bytes);
  const std::uint64_t first = last_ + 1;
  last_ += pieces_of(message);
  messages_.push_back({std::move(message), first});
}

wire::MeshData SendLane::next() {
  assert(has_unwritten());
  const Queued& queued = messages_[next_message_];
  const ByteView all = queued.message.view();
  ++written_;
  furthest_ = std::max(furthest_, written_);
  const std::size_t offset = (written_ - queued.first) * piece_bytes;
  const std::size_t size = std::min(piece_bytes, all.size() - offset);
  const bool is_last = offset + size == all.size();
  if (is_last) ++next_message_;
  bytes_on_the_way_ += size;
  return {
      .lane = lane_, .is_last = is_last, .sequence = written_, .bytes = all.subspan(offset, size)};
}

Result<LaneCredit> SendLane::acknowledge(std::uint64_t received) {
  if (received >= acknowledged_ && received <= written_) return drop_up_to(received);
  return fail(Error::protocol_error(
      fmt::format("the peer says it has taken frame {} of lane {}, of which {} were sent on this "
                  "connection and {} had been acknowledged",
                  received, lane_, written_, acknowledged_)));
}

LaneCredit SendLane::resume(std::uint64_t received) {
  assert(can_resume_after(received));
  bytes_on_the_way_ = 0;
  const LaneCredit credit = drop_up_to(received);
  forget_connection();
  return credit;
}

void SendLane::resume_from_acknowledged() { forget_connection(); }

void SendLane::forget_connection() {
  furthest_before_ = furthest_;
  written_ = acknowledged_;
  next_message_ = 0;
  bytes_on_the_way_ = 0;
}

LaneCredit SendLane::drop_up_to(std::uint64_t received) {
  LaneCredit credit;
  while (acknowledged_ < received) {
    const Queued& front = messages_.front();
    const std::size_t size = front.message.size();
    const std::uint64_t last = front.first + pieces_of(front.message) - 1;
    const std::uint64_t upto = std::min(received, last);
    const std::size_t begin = std::min(size, (acknowledged_ + 1 - front.first) * piece_bytes);
    const std::size_t end = std::min(size, (upto + 1 - front.first) * piece_bytes);
    bytes_on_the_way_ -= std::min(bytes_on_the_way_, end - begin);
    acknowledged_ = upto;
    if (upto < last) break;
    ++credit.messages;
    credit.bytes += size;
    messages_.pop_front();
    if (next_message_ > 0) --next_message_;
  }
  return credit;
}

Result<ReceiveLane::Taken> ReceiveLane::take(const wire::MeshData& piece, runtime::Faults* faults) {
  const bool is_duplicate = piece.sequence <= received_;
  if (is_duplicate && !runtime::fault_strikes(faults, "mesh.take-duplicate")) {
    return Taken{.is_duplicate = true, .message = std::nullopt};
  }
  if (piece.sequence > received_ + 1) {
    return fail(Error::protocol_error(
        fmt::format("frame {} of lane {} came after frame {}: what lies between is missing",
                    piece.sequence, piece.lane, received_)));
  }
  if (partial_.size() + piece.bytes.size() > limits::mesh_message_bytes) {
    return fail(Error::protocol_error(fmt::format("a message of lane {} is longer than {} bytes",
                                                  piece.lane, limits::mesh_message_bytes)));
  }
  if (!is_duplicate) received_ = piece.sequence;
  Taken taken{.is_duplicate = is_duplicate, .message = std::nullopt};
  const bool is_whole = piece.is_last && partial_.empty();
  if (is_whole && runtime::fault_strikes(faults, "mesh.skip-frame")) return taken;
  if (is_whole) {
    taken.message = SharedBytes::copy_of(piece.bytes);
    return taken;
  }
  partial_.insert(partial_.end(), piece.bytes.begin(), piece.bytes.end());
  if (piece.is_last) taken.message = SharedBytes(std::exchange(partial_, {}));
  return taken;
}

}  // namespace spotmesh::mesh
