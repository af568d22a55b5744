// InboundQuota: how much one client may send in a time.
#pragma once

#include <cstddef>
#include <string>

#include <spotmesh/time.hpp>

#include "stream/stream_options.hpp"

namespace spotmesh::stream {

// A bucket that fills with what is taken and empties at a steady rate. It never refuses: whoever
// takes asks first whether there is room, and the last one may go past the brim.
class RateBucket {
 public:
  // `per_second` 0: there is always room. `burst` is at least 1.
  RateBucket(std::size_t per_second, std::size_t burst);

  void take(std::size_t units, Instant now);
  bool has_room(Instant now) const;
  // When there is room for a part of a burst again; not before `now`.
  Instant refilled_at(Instant now) const;
  std::size_t per_second() const { return per_second_; }

 private:
  Duration time_of(std::size_t units) const;

  const std::size_t per_second_;
  const Duration burst_time_;
  const Duration unit_time_;
  Instant empty_at_;  // at this rate, if nothing more is taken
};

// A client that sends faster than its quota is held back: it is not read until there is room again,
// so nothing is lost and TCP slows it down. One that has been held back for
// StreamOptions::quota_patience altogether, less the time in between in which it kept within its
// quota, has more to say than it may, for good.
//
// For one thread at a time; time does not go back.
class InboundQuota {
 public:
  explicit InboundQuota(const StreamOptions& options);

  void take_bytes(std::size_t bytes, Instant now) { bytes_.take(bytes, now); }
  // Whatever the client said, packets or not.
  void take_message(Instant now) { messages_.take(1, now); }
  bool has_room(Instant now) const { return messages_.has_room(now) && bytes_.has_room(now); }

  // Reading stops for want of room, until the moment that this gives.
  Instant hold(Instant now);
  // Reading goes on. False when the patience with this client is at its end.
  bool release(Instant now);
  // "more than 500 messages in a second, which is the most [stream.messages_per_second]", of the
  // last hold().
  std::string excess() const;
  // The same, and for how long.
  std::string breach() const;

 private:
  RateBucket messages_;
  RateBucket bytes_;
  const Duration patience_;
  Duration held_back_{};
  Instant changed_at_;  // by hold() or release()
  bool is_of_bytes_ = false;
};

}  // namespace spotmesh::stream
