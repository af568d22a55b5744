// The production Random.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "base/random.hpp"

namespace spotmesh::net {

// Every bit comes from the operating system's generator, so ids and tokens made of them cannot be
// guessed. Bits are fetched some at a time, because a system call costs more than a lock.
class OsRandom final : public Random {
 public:
  std::uint64_t next_u64() override;

 private:
  void refill();

  // 256 bytes: what getrandom() fills in one go, whatever signals arrive.
  std::array<std::uint64_t, 32> words_{};
  std::size_t words_left_ = 0;
  std::mutex mutex_;
};

}  // namespace spotmesh::net
