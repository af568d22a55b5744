#include "testing/sim_link.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace spotmesh::testing {
namespace {

// How long a client that does not read can keep a link that is to be closed.
constexpr Duration longest_flush = std::chrono::seconds(5);
// One read in so many ends in the middle of a piece.
constexpr std::uint64_t cut_one_read_in = 8;

}  // namespace

template <typename F>
void SimLink::at(Instant when, F job) {
  time_.at(when, [self = shared_from_this(), job = std::move(job)]() mutable {
    if (self->is_open()) job();
  });
}

void SimLink::send_batch(std::span<SharedBytes> batch) {
  if (state_ != State::Open) return;
  for (auto& bytes : batch) {
    if (bytes.empty()) continue;
    unsent_bytes_ += bytes.size();
    outbound_.push_back(std::move(bytes));
  }
  was_above_ = was_above_ || unsent_bytes_ > stream::link_backlog_bytes;
  put_on_wire();
}

void SimLink::resume_reading() {
  is_reading_paused_ = false;
  later([this] { deliver_inbound(); });
}

void SimLink::close_after_flush() {
  if (state_ != State::Open) return;
  state_ = State::Flushing;
  at(time_.now() + longest_flush, [this] { end("closed by the server, unsent bytes dropped"); });
  later([this] { finish_flushing(); });
}

void SimLink::abort() {
  if (!is_open()) return;
  later([this] { end("aborted by the server"); });
}

void SimLink::send(Bytes bytes) {
  if (!is_open() || client_ != Client::Present || is_silent_ || bytes.empty()) return;
  at(arrival(last_inbound_), [this, bytes = std::move(bytes)]() mutable {
    if (client_ == Client::Reset) return;
    inbound_.push_back(std::move(bytes));
    deliver_inbound();
  });
}

void SimLink::close() {
  if (!is_open() || client_ != Client::Present || is_silent_) return;
  client_ = Client::Closed;
  at(arrival(last_inbound_), [this] {
    is_end_of_inbound_ = true;
    deliver_inbound();
  });
  later([this] { deliver_outbound(); });
}

void SimLink::vanish() {
  if (client_ == Client::Present) client_ = Client::Vanished;
}

void SimLink::reset() {
  if (!is_open()) return;
  client_ = Client::Reset;
  at(arrival(last_inbound_), [this] {
    is_reset_ = true;
    deliver_inbound();
  });
}

void SimLink::start_reading() {
  if (!is_open()) return;
  does_client_read_ = true;
  later([this] { deliver_outbound(); });
}

std::size_t SimLink::unread_bytes() const {
  return std::accumulate(inbound_.begin(), inbound_.end(), std::size_t{0},
                         [](std::size_t sum, const Bytes& bytes) { return sum + bytes.size(); });
}

void SimLink::crash() {
  handler_.reset();
  if (is_open()) later([this] { end("connection reset"); });
}

Instant SimLink::arrival(Instant& last) {
  const Duration span = conditions_.longest_latency - conditions_.shortest_latency;
  const auto width = static_cast<std::uint64_t>(std::max<Duration::rep>(span.count(), 0)) + 1;
  const Duration latency = conditions_.shortest_latency +
                           Duration(static_cast<Duration::rep>(random_below(random_, width)));
  last = std::max(last, time_.now() + latency);
  return last;
}

std::size_t SimLink::read_size(std::size_t size) {
  const bool is_cut = size > 1 && random_below(random_, cut_one_read_in) == 0;
  return is_cut ? 1 + random_below(random_, size - 1) : size;
}

void SimLink::deliver_inbound() {
  while (is_open() && !is_reading_paused_ && !inbound_.empty() && handler_ != nullptr) {
    Bytes bytes = std::move(inbound_.front());
    inbound_.pop_front();
    const std::size_t taken = read_size(bytes.size());
    if (taken < bytes.size()) {
      inbound_.emplace_front(bytes.begin() + static_cast<std::ptrdiff_t>(taken), bytes.end());
      bytes.resize(taken);
    }
    handler_->on_bytes(bytes);
  }
  if (!is_open() || is_reading_paused_) return;
  if (is_reset_) return end("connection reset");
  if (inbound_.empty() && is_end_of_inbound_) end("closed by the client");
}

void SimLink::put_on_wire() {
  while (!outbound_.empty() && in_flight_bytes_ < conditions_.socket_buffer_bytes) {
    SharedBytes bytes = std::move(outbound_.front());
    outbound_.pop_front();
    unsent_bytes_ -= bytes.size();
    in_flight_bytes_ += bytes.size();
    at(arrival(last_outbound_), [this, bytes = std::move(bytes)] {
      arrived_.push_back(bytes);
      deliver_outbound();
    });
  }
  report_drained();
}

void SimLink::report_drained() {
  if (!was_above_ || unsent_bytes_ > stream::link_backlog_bytes) return;
  was_above_ = false;
  later([this] {
    if (handler_ != nullptr) handler_->on_drained();
  });
}

void SimLink::deliver_outbound() {
  if (client_ == Client::Reset && !arrived_.empty()) return answer_with_reset();
  const bool is_taken =
      client_ == Client::Closed || (client_ == Client::Present && does_client_read_);
  while (is_taken && is_open() && !arrived_.empty()) {
    const SharedBytes bytes = std::move(arrived_.front());
    arrived_.pop_front();
    in_flight_bytes_ -= bytes.size();
    if (client_ == Client::Closed) return answer_with_reset();
    if (peer_ == nullptr) continue;
    const std::size_t first = read_size(bytes.size());
    peer_->on_bytes(bytes.view().first(first));
    if (peer_ != nullptr && first < bytes.size()) peer_->on_bytes(bytes.view().subspan(first));
  }
  put_on_wire();
  finish_flushing();
}

// As the system does for a client whose program is not there any more: what this side has not read
// yet is lost with the connection, and a link that is not read learns of its end in no other way.
void SimLink::answer_with_reset() {
  at(arrival(last_inbound_), [this] { end("connection reset"); });
}

void SimLink::finish_flushing() {
  if (state_ == State::Flushing && outbound_.empty() && in_flight_bytes_ == 0) {
    end("closed by the server");
  }
}

void SimLink::end(std::string_view reason) {
  state_ = State::Ended;
  unsent_bytes_ = 0;
  outbound_.clear();
  inbound_.clear();
  if (const auto handler = std::exchange(handler_, nullptr)) handler->on_closed(reason);
  SimPeer* peer = std::exchange(peer_, nullptr);
  if (peer != nullptr && client_ != Client::Vanished) peer->on_closed(reason);
}

}  // namespace spotmesh::testing
