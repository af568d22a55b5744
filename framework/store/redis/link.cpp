#include "store/redis/link.hpp"

#include <algorithm>
#include <random>
#include <utility>

#include <fmt/format.h>

#include "base/retry_pause.hpp"

namespace spotmesh::store::redis {
namespace {

constexpr auto first_pause = std::chrono::milliseconds(20);
constexpr auto last_pause = std::chrono::milliseconds(500);
// Servers that were left with commits under way and have not been seen since.
constexpr std::size_t most_abandoned = 16;
constexpr std::size_t most_warnings = 64;

Error error_at(const RedisAddress& address, const Error& error) {
  return Error(error.kind(), fmt::format("Redis {}: {}", to_string(address), error.message()));
}

}  // namespace

std::uint64_t SystemRandom::next_u64() {
  std::random_device device;
  return (std::uint64_t{device()} << 32U) | device();
}

Link::Link(const RedisOptions& options, const StoreKeys& keys)
    : options_(options),
      keys_(keys),
      discovery_(options, random_),
      refusal_{Error::unavailable("no Redis server has answered yet"), false} {}

std::string Link::new_identity() {
  return fmt::format("{:016x}{:016x}", random_.next_u64(), random_.next_u64());
}

void Link::process(SteadyTime now) {
  discovery_.process(now);
  if (state_ == State::Waiting && now >= wake_) begin(now);
  if (state_ == State::Greeting) greet(now);
}

SteadyTime Link::next_wake() const {
  if (state_ == State::Ready) return discovery_.next_wake();
  // Without an address only Sentinel can bring things forward.
  if (state_ == State::Waiting && !discovery_.primary()) return discovery_.next_wake();
  return std::min(wake_, discovery_.next_wake());
}

bool Link::is_outdated() const {
  return discovery_.primary() && *discovery_.primary() != address();
}

void Link::begin(SteadyTime now) {
  if (!discovery_.primary()) {
    if (discovery_.refusal()) refusal_ = *discovery_.refusal();
    return;
  }
  connection_ = std::make_unique<Connection>(*discovery_.primary());
  handshake_.emplace(*connection_, options_, keys_, abandoned_, new_identity());
  state_ = State::Greeting;
  wake_ = now + std::chrono::duration_cast<SteadyTime::duration>(options_.connect_timeout);
}

void Link::greet(SteadyTime now) {
  while (!handshake_->is_ready() && !handshake_->refusal()) {
    const Reply reply = connection_->next_reply();
    if (!reply) break;
    handshake_->on_reply(*reply);
  }
  if (handshake_->refusal()) {
    fail(*handshake_->refusal(), now);
  } else if (handshake_->is_ready()) {
    become_ready();
  } else if (!connection_->fault().empty()) {
    fail({Error::unavailable(connection_->fault()), false}, now);
  } else if (now >= wake_) {
    fail({Error::unavailable("it does not answer"), false}, now);
  }
}

void Link::become_ready() {
  const std::string& run_id = handshake_->facts().run_id;
  std::erase_if(abandoned_, [&](const Abandoned& each) { return each.run_id == run_id; });
  state_ = State::Ready;
  failures_ = 0;
  for (std::string& warning : warnings_about(handshake_->facts(), options_)) {
    warn_once(fmt::format("Redis {}: {}", to_string(address()), warning));
  }
  tell_prepared(handshake_->outcome());
  was_ready_ = true;
}

void Link::tell_prepared(std::string_view outcome) {
  const bool has_lost = outcome == "repaired" || (was_ready_ && outcome == "created");
  if (!has_lost) return;
  options_.warn(
      fmt::format("Redis {}: records of the store \"{}\" have been lost; nodes write "
                  "theirs again",
                  to_string(address()), options_.prefix));
}

void Link::warn_once(std::string warning) {
  if (std::find(warnings_.begin(), warnings_.end(), warning) != warnings_.end()) return;
  if (warnings_.size() == most_warnings) warnings_.erase(warnings_.begin());
  warnings_.push_back(warning);
  options_.warn(warning);
}

void Link::fail(Refusal refusal, SteadyTime now) {
  refusal_ = Refusal{error_at(connection_->address(), refusal.error), refusal.is_final};
  pause(now);
}

void Link::drop(std::string reason, bool has_commits, SteadyTime now) {
  refusal_ = Refusal{error_at(address(), Error::unavailable(std::move(reason))), false};
  if (has_commits) {
    if (abandoned_.size() == most_abandoned) abandoned_.erase(abandoned_.begin());
    abandoned_.push_back({handshake_->facts().run_id, handshake_->client_id()});
  }
  pause(now);
}

void Link::pause(SteadyTime now) {
  handshake_.reset();
  connection_.reset();
  state_ = State::Waiting;
  ++failures_;
  wake_ = now + std::chrono::duration_cast<SteadyTime::duration>(
                    retry_pause(random_, failures_, first_pause, last_pause));
  discovery_.doubt(now);
}

}  // namespace spotmesh::store::redis
