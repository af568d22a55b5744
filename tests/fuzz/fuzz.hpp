// What every fuzz target is made of.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <spotmesh/bytes.hpp>

namespace spotmesh::fuzz {

// Each target defines it: takes any input and returns, with nothing kept. A defect that no
// sanitizer sees is reported with require().
void run(ByteView input);

// Ends the process and names the claim that does not hold, so that the input is kept.
void require(bool holds, const char* claim);

// Takes an input apart: choices from its front, and the rest as what the target reads.
class Input {
 public:
  explicit Input(ByteView bytes) : rest_(bytes) {}

  // 0 when nothing is left.
  std::uint8_t take_byte() {
    if (rest_.empty()) return 0;
    const auto byte = std::to_integer<std::uint8_t>(rest_.front());
    rest_ = rest_.subspan(1);
    return byte;
  }
  // A copy of exactly their size on the heap: what reads past its end is noticed, and it begins
  // where any scalar may.
  Bytes rest() const { return {rest_.begin(), rest_.end()}; }
  std::string_view rest_text() const { return as_text(rest_); }

 private:
  ByteView rest_;
};

}  // namespace spotmesh::fuzz
