#include "stream/inbound_quota.hpp"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>

namespace spotmesh::stream {
namespace {

using namespace std::chrono_literals;

// A client that is held back is not read again for every single message there is room for.
constexpr Duration longest_refill = 50ms;

}  // namespace

RateBucket::RateBucket(std::size_t per_second, std::size_t burst)
    : per_second_(per_second), burst_time_(time_of(burst)), unit_time_(time_of(1)) {}

Duration RateBucket::time_of(std::size_t units) const {
  if (per_second_ == 0) return {};
  return std::chrono::nanoseconds(units * std::size_t{1'000'000'000} / per_second_);
}

void RateBucket::take(std::size_t units, Instant now) {
  if (per_second_ == 0) return;
  empty_at_ = std::max(empty_at_, now) + (units == 1 ? unit_time_ : time_of(units));
}

bool RateBucket::has_room(Instant now) const {
  return per_second_ == 0 || empty_at_ - now < burst_time_;
}

Instant RateBucket::refilled_at(Instant now) const {
  if (per_second_ == 0) return now;
  return std::max(now, empty_at_ - burst_time_ + std::min<Duration>(burst_time_, longest_refill));
}

InboundQuota::InboundQuota(const StreamOptions& options)
    : messages_(options.messages_per_second, options.message_burst),
      bytes_(options.bytes_per_second, std::max(options.byte_burst, options.message_bytes)),
      patience_(options.quota_patience) {}

Instant InboundQuota::hold(Instant now) {
  held_back_ -= std::min(held_back_, now - changed_at_);
  changed_at_ = now;
  is_of_bytes_ = messages_.has_room(now);
  return std::max(messages_.refilled_at(now), bytes_.refilled_at(now));
}

bool InboundQuota::release(Instant now) {
  held_back_ += now - changed_at_;
  changed_at_ = now;
  return held_back_ < patience_;
}

std::string InboundQuota::excess() const {
  return is_of_bytes_
             ? fmt::format("more than {} bytes a second, which is the most", bytes_.per_second())
             : fmt::format("more than {} messages a second, which is the most",
                           messages_.per_second());
}

std::string InboundQuota::breach() const {
  return fmt::format("{}, for {} s", excess(),
                     std::chrono::duration_cast<std::chrono::seconds>(held_back_).count());
}

}  // namespace spotmesh::stream
