// The two ends of a lane.
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include <spotmesh/limits.hpp>

#include "mesh/lanes.hpp"

using namespace spotmesh;
using namespace spotmesh::mesh;

namespace {

constexpr std::size_t piece = limits::mesh_piece_bytes;

SharedBytes message(std::size_t size, char fill = 'x') {
  return SharedBytes::copy_of(as_bytes(std::string(size, fill)));
}

// All that the lane has to write, as (sequence, size).
std::vector<std::pair<std::uint64_t, std::size_t>> drain(SendLane& lane) {
  std::vector<std::pair<std::uint64_t, std::size_t>> pieces;
  while (lane.has_unwritten()) {
    const auto next = lane.next();
    pieces.emplace_back(next.sequence, next.bytes.size());
  }
  return pieces;
}

}  // namespace

TEST_CASE("a lane numbers the pieces of its messages through") {
  SendLane lane(1);
  lane.add(message(0));
  lane.add(message(piece));
  lane.add(message(2 * piece + 1));
  lane.add(message(3));
  CHECK(drain(lane) == std::vector<std::pair<std::uint64_t, std::size_t>>{
                           {1, 0}, {2, piece}, {3, piece}, {4, piece}, {5, 1}, {6, 3}});
  CHECK(lane.bytes_on_the_way() == 3 * piece + 4);
}

TEST_CASE("an acknowledgement frees the messages that it covers entirely") {
  SendLane lane(1);
  lane.add(message(2 * piece));
  lane.add(message(10));
  drain(lane);
  CHECK(lane.acknowledge(1)->messages == 0);
  CHECK(lane.bytes_on_the_way() == piece + 10);
  const auto credit = lane.acknowledge(2);
  CHECK(credit->messages == 1);
  CHECK(credit->bytes == 2 * piece);
  CHECK(lane.acknowledge(3)->bytes == 10);
  CHECK(lane.is_empty());
  CHECK(lane.bytes_on_the_way() == 0);
}

TEST_CASE("an acknowledgement of what was not written, or of less than before, cannot be") {
  SendLane lane(1);
  lane.add(message(1));
  lane.add(message(1));
  lane.next();
  CHECK_FALSE(lane.acknowledge(2).has_value());
  CHECK(lane.acknowledge(1).has_value());
  CHECK_FALSE(lane.acknowledge(0).has_value());
  CHECK(lane.acknowledge(1).has_value());
}

TEST_CASE("a new connection goes on where the peer has come to, within a message too") {
  SendLane lane(1);
  lane.add(message(3 * piece));
  lane.add(message(5));
  drain(lane);
  CHECK_FALSE(lane.can_resume_after(5));
  REQUIRE(lane.can_resume_after(1));
  CHECK(lane.resume(1).messages == 0);
  CHECK(lane.bytes_on_the_way() == 0);
  CHECK(drain(lane) ==
        std::vector<std::pair<std::uint64_t, std::size_t>>{{2, piece}, {3, piece}, {4, 5}});
  CHECK_FALSE(lane.can_resume_after(0));
  CHECK(lane.resume(4).messages == 2);
  CHECK(lane.is_empty());
}

TEST_CASE("what was never written before is not counted as sent again") {
  SendLane lane(1);
  for (int i = 0; i < 3; ++i) lane.add(message(1));
  lane.next();
  lane.resume(0);
  CHECK(lane.is_resent(lane.next()));
  CHECK_FALSE(lane.is_resent(lane.next()));
}

TEST_CASE("what arrives is put together again, and each number is taken once") {
  SendLane sending(2);
  ReceiveLane receiving;
  std::string text(2 * piece + 7, 'a');
  text[piece] = 'b';
  sending.add(SharedBytes::copy_of(as_bytes(text)));
  sending.add(message(0));
  std::vector<SharedBytes> taken;
  for (int times = 0; times < 2; ++times) {
    while (sending.has_unwritten()) {
      const auto one = receiving.take(sending.next(), nullptr);
      REQUIRE(one.has_value());
      CHECK(one->is_duplicate == (times == 1));
      if (one->message) taken.push_back(*one->message);
    }
    sending.resume_from_acknowledged();
  }
  REQUIRE(taken.size() == 2);
  CHECK(as_text(taken[0].view()) == text);
  CHECK(taken[1].empty());
  CHECK(receiving.partial_bytes() == 0);
}

TEST_CASE("a gap, and a message beyond the longest, are refused and change nothing") {
  ReceiveLane lane;
  const auto take = [&lane](std::uint64_t sequence, bool is_last, ByteView bytes) {
    return lane.take({.lane = 0, .is_last = is_last, .sequence = sequence, .bytes = bytes}, nullptr)
        .has_value();
  };
  CHECK_FALSE(take(2, true, {}));
  CHECK(lane.received() == 0);
  const Bytes full(piece);
  std::uint64_t sequence = 0;
  while ((sequence + 1) * piece <= limits::mesh_message_bytes) {
    ++sequence;
    REQUIRE(take(sequence, false, full));
  }
  CHECK_FALSE(take(sequence + 1, true, full));
  CHECK(lane.received() == sequence);
}
