#include "net/os_random.hpp"

#include <fmt/core.h>
#include <sys/random.h>

#include <cerrno>
#include <cstring>
#include <exception>
#include <utility>

namespace spotmesh::net {

std::uint64_t OsRandom::next_u64() {
  std::lock_guard lock(mutex_);
  if (words_left_ == 0) refill();
  --words_left_;
  // What has been handed out does not stay in memory: it may have become part of a secret.
  return std::exchange(words_[words_left_], 0);
}

void OsRandom::refill() {
  ssize_t got = 0;
  do {
    got = getrandom(words_.data(), sizeof(words_), 0);
  } while (got < 0 && errno == EINTR);
  if (got != static_cast<ssize_t>(sizeof(words_))) {
    // Without randomness every id could collide; there is nothing to go on with.
    fmt::print(stderr, "spotmesh: getrandom failed: {}\n", std::strerror(errno));
    std::terminate();
  }
  words_left_ = words_.size();
}

}  // namespace spotmesh::net
