// ClientSession: what the client says, and the answers to its requests.
#include <mutex>
#include <utility>

#include <fmt/format.h>

#include "stream/client_session.hpp"
#include "stream/session_jobs.hpp"

namespace spotmesh::stream {

using runtime::Lane;
using runtime::Ref;

bool ClientSession::can_take() const {
  return !is_stalled_.load() && packets_.waiting() < gateway_->options.inbound_jobs;
}

// Not at the first free place: a client that is faster than its session would be paused and
// resumed for every packet.
bool ClientSession::can_resume() const {
  return !is_stalled_.load() && packets_.waiting() <= gateway_->options.inbound_jobs / 2;
}

void ClientSession::on_event(InboundEvent event) {
  switch (event.kind) {
    case InboundEvent::Kind::Packet:
      return take_packet(event);
    case InboundEvent::Kind::Refused:
      return take_refused(event);
    case InboundEvent::Kind::Close:
      return close(SessionEnding::closed_by_client(std::move(event.close)));
    case InboundEvent::Kind::Failed:
      return close(SessionEnding::broke_protocol(std::move(event.close)));
    case InboundEvent::Kind::NeedMoreBytes:
    case InboundEvent::Kind::Hello:
    case InboundEvent::Kind::Ping:
    case InboundEvent::Kind::Pong:
      return;
  }
}

void ClientSession::take_packet(InboundEvent& event) {
  RequestKey request;
  std::optional<Instant> deadline;
  if (!event.seq.is_one_way()) {
    const auto admitted = admit(event.seq, deadline);
    if (!admitted.has_value()) return;
    request = *admitted;
  }
  if (relay_at_once(event.message, request, deadline)) return;
  packets_.take();
  auto job = std::make_unique<PacketJob>(*this, std::move(event.message), request, deadline);
  // There is room for it (can_take), so only a mailbox that is closed refuses: the session has
  // ended.
  if (!mailbox_.push(Lane::Application, std::move(job))) packet_done();
}

std::optional<RequestKey> ClientSession::admit(wire::RequestSeq seq,
                                               std::optional<Instant>& deadline) {
  enum class Refusal { Reused, Full } refusal;
  {
    std::lock_guard lock(mutex_);
    if (!requests_.has(seq) && !requests_.is_full()) {
      deadline = reader_.last_heard() + gateway_->options.request_timeout;
      arm_locked(*deadline);
      return requests_.add(seq, *deadline);
    }
    refusal = requests_.has(seq) ? Refusal::Reused : Refusal::Full;
  }
  if (refusal == Refusal::Reused) {
    close(SessionEnding::broke_protocol(
        {wire::CloseCode::BadMessage,
         fmt::format("seq {} is that of a request that has no answer yet", seq.value)}));
    return std::nullopt;
  }
  gateway_->metrics.over_in_flight.add();
  send_reply(
      seq,
      fail(Error::capacity_exceeded(fmt::format("{} requests have no answer yet, which is the most",
                                                gateway_->options.requests_in_flight))));
  return std::nullopt;
}

void ClientSession::take_refused(InboundEvent& event) {
  StreamMetrics& metrics = gateway_->metrics;
  const Error error = *std::move(event.error);
  (error.kind() == ErrorKind::NotFound ? metrics.unknown_packets : metrics.undecodable).add();
  if (!event.seq.is_one_way()) {
    std::optional<Instant> deadline;
    const auto admitted = admit(event.seq, deadline);
    if (!admitted.has_value()) return;
    answer(*admitted, fail(error));
  }
  // In the lane and count of the packets, so that a flood of these is bounded like any other.
  packets_.take();
  push_callback(
      Lane::Application, "on_error", [this, error] { return call_on_error(error); },
      [this] { packet_done(); });
  log_first(error);
}

void ClientSession::on_held_back(Instant until) {
  if (!has_logged_quota_.exchange(true)) {
    logger().info("client is held back: it sends more than its quota; said once for each session");
  }
  std::lock_guard lock(mutex_);
  arm_locked(until);
}

void ClientSession::on_over_quota(std::string reason) {
  close(SessionEnding::over_quota(std::move(reason)));
}

bool ClientSession::is_pending(const RequestKey& request) const {
  std::lock_guard lock(mutex_);
  return requests_.has(request);
}

void ClientSession::answer(const RequestKey& request, const Result<Message>& reply) {
  {
    std::lock_guard lock(mutex_);
    const bool was_pending = requests_.remove(request);
    if (!life_.is_live()) return gateway_->metrics.orphaned_replies.add();
    if (!was_pending) return gateway_->metrics.late_replies.add();
  }
  send_reply(request.seq, reply);
  if (runtime::fault_strikes(gateway_->seams.faults, "session.reply-twice")) {
    send_reply(request.seq, reply);
  }
}

void ClientSession::send_reply(wire::RequestSeq seq, const Result<Message>& reply) {
  StreamMetrics& metrics = gateway_->metrics;
  if (reply) {
    auto frame = protocol_->encode_reply(seq, *reply);
    if (frame) {
      if (auto fits = protocol_->check_fits(*frame); !fits) frame = fail(fits.error());
    }
    if (frame) {
      metrics.replies_out.add();
      outbound_.answer(*std::move(frame));
      return;
    }
    const Error error = Error::internal_failure(
        fmt::format("the reply cannot be written for the client: {}", frame.error().message()));
    log_failure(error);
    return send_reply(seq, fail(error));
  }
  metrics.error_replies_out.add();
  outbound_.answer(protocol_->encode_error_reply(seq, reply.error()));
}

void ClientSession::packet_done() {
  packets_.finish();
  wake_reader();
}

// Reading goes on off the session's turn, which has other things to do.
void ClientSession::wake_reader() {
  if (!reader_.waits_for_listener() || !can_resume()) return;
  gateway_->seams.strand.post([self = Ref(this)] { self->reader_.resume(); });
}

void ClientSession::begin_stall(const Ref<runtime::Completion<bool>>& wake) {
  {
    std::lock_guard lock(mutex_);
    if (life_.is_live()) {
      is_stalled_.store(true);
      stall_wake_ = wake;
      return;
    }
  }
  wake->complete(false);
}

void ClientSession::end_stall() {
  {
    std::lock_guard lock(mutex_);
    stall_wake_ = {};
  }
  is_stalled_.store(false);
  wake_reader();
}

}  // namespace spotmesh::stream
