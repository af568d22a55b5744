#include "client/conversation.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "base/utf8.hpp"
#include "client/deadline.hpp"

namespace spotmesh::client {

using wire::CloseCode;

namespace {

// While more than this waits to be sent, pongs wait as well, so that pings cannot fill the memory.
constexpr std::size_t pong_backlog_bytes = 64 * 1024;
constexpr std::size_t shift_after_bytes = 256 * 1024;

constexpr std::uint16_t number_of(CloseCode code) { return static_cast<std::uint16_t>(code); }

bool may_be_said(std::uint16_t code) { return code == 1000 || (code >= 3000 && code <= 4999); }

}  // namespace

Ending ending_of(const wire::WebSocketClose& close) {
  const auto ending = [&](ErrorKind kind, bool may_return) {
    return Ending{kind, number_of(close.code), close.reason, may_return};
  };
  switch (close.code) {
    case CloseCode::GoingAway:
      return ending(ErrorKind::ShuttingDown, true);
    case CloseCode::InternalError:
      return ending(ErrorKind::InternalFailure, true);
    case CloseCode::ProtocolError:
    case CloseCode::UnsupportedData:
    case CloseCode::InvalidText:
    case CloseCode::PolicyViolation:
    case CloseCode::MessageTooBig:
    case CloseCode::BadMessage:
    case CloseCode::Incompatible:
      return ending(ErrorKind::ProtocolError, false);
    case CloseCode::Disconnected:
    case CloseCode::Replaced:
      return ending(ErrorKind::Rejected, false);
    case CloseCode::SlowReader:
    case CloseCode::Overloaded:
    case CloseCode::QuotaExceeded:
      return ending(ErrorKind::CapacityExceeded, true);
    case CloseCode::Unresponsive:
      return ending(ErrorKind::DeadlineExceeded, true);
    default:
      return ending(ErrorKind::Unavailable, close.code != CloseCode::Normal);
  }
}

std::string to_string(const Ending& ending) {
  const CloseCode code{ending.code};
  const std::string_view name = ending.code == 1006 ? "without a close" : wire::to_string(code);
  if (ending.reason.empty()) return fmt::format("{} {}", ending.code, name);
  return fmt::format("{} {}: {}", ending.code, name, ending.reason);
}

Conversation::Conversation(const ClientOptions& options, wire::StreamForm form, Random& random,
                           Instant now)
    : options_(options),
      codec_(form, catalog_, random, options.message_bytes),
      most_requests_(options.requests_in_flight),
      last_heard_(now),
      phase_ends_(now + options.connect_timeout) {
  catalog_.add(options.packets);
  if (codec_.begins_with_hello()) {
    codec_.append_hello(out_, {.message_bytes = static_cast<std::uint32_t>(options.message_bytes),
                               .types = catalog_.prints().prints(),
                               .resume = {}});
  }
}

Result<void> Conversation::request(const Message& packet, Done done, Duration timeout,
                                   Instant now) {
  if (requests_.size() >= most_requests_) {
    return fail(Error::capacity_exceeded(
        fmt::format("{} requests have no answer yet; as many may", requests_.size())));
  }
  const wire::RequestSeq seq = next_seq();
  if (auto said = say(seq, packet); !said) return said;
  const Instant deadline = deadline_after(now, timeout);
  requests_.emplace(seq.value, Request{std::move(done), deadline});
  deadlines_.emplace(deadline, seq.value);
  return {};
}

Result<void> Conversation::send(const Message& packet) { return say({}, packet); }

Result<void> Conversation::say(wire::RequestSeq seq, const Message& packet) {
  if (!takes_packets()) {
    return fail(Error::unavailable(ending_.has_value()
                                       ? "the connection has ended: " + to_string(*ending_)
                                       : "the connection is closing"));
  }
  const std::size_t before = out_.size();
  if (auto said = codec_.append_packet(out_, seq, packet); !said) return said;
  const std::size_t bytes = out_.size() - before;
  // The bound is that of the message; the frame around it is a few bytes more.
  if (bytes > server_message_bytes_ + wire::max_frame_header_bytes) {
    out_.resize(before);
    return fail(
        Error::capacity_exceeded(fmt::format("{} makes a message of {} bytes; the server "
                                             "takes {}",
                                             packet.packet_name(), bytes, server_message_bytes_)));
  }
  if (output().size() > options_.outbound_bytes) {
    out_.resize(before);
    return fail(Error::capacity_exceeded(
        fmt::format("{} bytes wait to be sent, and {} more may not: {} may", output().size(), bytes,
                    options_.outbound_bytes)));
  }
  return {};
}

wire::RequestSeq Conversation::next_seq() {
  do {
    ++last_seq_;
  } while (last_seq_ == 0 || requests_.contains(last_seq_));
  return {last_seq_};
}

Result<void> Conversation::close(std::uint16_t code, std::string_view reason, Instant now) {
  if (!may_be_said(code) || reason.size() > wire::max_close_reason_bytes ||
      !is_valid_utf8(reason)) {
    return fail(Error::invalid_operation(fmt::format(
        "a client closes with 1000 or 3000 to 4999 and at most {} bytes of UTF-8, not with {} and "
        "{} bytes",
        wire::max_close_reason_bytes, code, reason.size())));
  }
  if (!takes_packets()) return {};
  if (!has_begun_) {
    end({ErrorKind::Unavailable, 1006, "closed before it was open", true});
    return {};
  }
  codec_.append_close(out_, {CloseCode{code}, std::string(reason)});
  state_ = State::Closing;
  phase_ends_ = now + options_.close_timeout;
  return {};
}

void Conversation::on_push(const PacketDescriptor& packet, OnPush handler) {
  if (catalog_.find(packet.name) == nullptr) {
    throw ConfigurationError(fmt::format("'{}' is none of this connection's packets", packet.name));
  }
  push_handlers_.insert_or_assign(packet.id, std::make_shared<const OnPush>(std::move(handler)));
}

void Conversation::begin(Instant now) {
  has_begun_ = true;
  last_heard_ = now;
  if (!codec_.begins_with_hello()) come_in(now);
}

void Conversation::come_in(Instant now) {
  if (state_ != State::Connecting) return;
  state_ = State::Open;
  last_heard_ = now;
  ++calls_;
  if (const auto handler = on_open) handler();
}

void Conversation::on_bytes(ByteView bytes, Instant now) {
  last_heard_ = now;
  pinged_at_.reset();
  while (state_ != State::Ended) {
    wire::ClientEvent event = codec_.next(bytes);
    if (event.kind == wire::ClientEvent::Kind::NeedMoreBytes) break;
    take(std::move(event), now);
  }
  if (state_ != State::Ended) answer_ping();
}

void Conversation::take(wire::ClientEvent event, Instant now) {
  using Kind = wire::ClientEvent::Kind;
  switch (event.kind) {
    case Kind::NeedMoreBytes:
    case Kind::Pong:
      return;
    case Kind::Welcome:
      session_ = event.welcome.session;
      server_message_bytes_ = event.welcome.message_bytes;
      most_requests_ = std::min<std::size_t>(most_requests_, event.welcome.requests_in_flight);
      return come_in(now);
    case Kind::Push:
      return take_push(event.message);
    case Kind::Reply:
      return take_reply(event.seq, std::move(event.message));
    case Kind::Ping:
      ping_.emplace(event.bytes.begin(), event.bytes.end());
      return;
    case Kind::Close:
      if (state_ != State::Closing) codec_.append_close(out_, {event.close.code, {}});
      return end(ending_of(event.close));
    case Kind::Failed:
      codec_.append_close(out_, event.close);
      return end({ErrorKind::ProtocolError, number_of(event.close.code),
                  "the server broke the protocol: " + event.close.reason, false});
  }
}

void Conversation::take_push(const Result<Message>& push) {
  ++calls_;
  // Handlers may set others meanwhile, so each call is of a copy.
  if (!push) {
    if (const auto handler = on_unread_push) handler(push.error());
    return;
  }
  const auto found = push_handlers_.find(push->descriptor()->id);
  if (found != push_handlers_.end()) {
    const auto handler = found->second;
    return (*handler)(*push);
  }
  if (const auto handler = on_other_push) handler(*push);
}

void Conversation::take_reply(wire::RequestSeq seq, Result<Message> reply) {
  auto request = requests_.extract(seq.value);
  if (request.empty()) {
    ++late_replies_;
    return;
  }
  deadlines_.erase({request.mapped().deadline, seq.value});
  ++calls_;
  request.mapped().done(std::move(reply));
}

// Of several pings only the newest is answered.
void Conversation::answer_ping() {
  if (!ping_.has_value() || output().size() > pong_backlog_bytes) return;
  codec_.append_pong(out_, *ping_);
  ping_.reset();
}

Instant Conversation::next_tick() const {
  if (state_ == State::Ended) return Instant::max();
  Instant next = deadlines_.empty() ? Instant::max() : deadlines_.begin()->first;
  if (state_ != State::Open) return std::min(next, phase_ends_);
  return std::min(next, pinged_at_.value_or(last_heard_) + options_.heartbeat);
}

void Conversation::tick(Instant now) {
  check_requests(now);
  if (state_ == State::Open) check_silence(now);
  if (state_ == State::Connecting && now >= phase_ends_) end(not_let_in());
  if (state_ == State::Closing && now >= phase_ends_) {
    end({ErrorKind::DeadlineExceeded, 1006, "the server did not close in time", true});
  }
  if (state_ != State::Ended) answer_ping();
}

void Conversation::check_requests(Instant now) {
  while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
    const std::uint32_t seq = deadlines_.begin()->second;
    deadlines_.erase(deadlines_.begin());
    auto request = requests_.extract(seq);
    ++calls_;
    request.mapped().done(fail(Error::deadline_exceeded(
        "no answer came in time; whether the request was carried out is unknown")));
  }
}

// What counts is the time since the server was asked: a program that has not polled for long has
// not asked either.
void Conversation::check_silence(Instant now) {
  if (pinged_at_.has_value()) {
    if (now - *pinged_at_ < options_.heartbeat) return;
    return end({ErrorKind::DeadlineExceeded, 1006,
                fmt::format("nothing was heard from the server for {:.1f} s",
                            std::chrono::duration<double>(now - last_heard_).count()),
                true});
  }
  if (now - last_heard_ < options_.heartbeat) return;
  codec_.append_ping(out_, {});
  pinged_at_ = now;
}

Ending Conversation::not_let_in() const {
  return {ErrorKind::DeadlineExceeded, 1006,
          fmt::format("the server did not let this client in within {:.1f} s",
                      std::chrono::duration<double>(options_.connect_timeout).count()),
          true};
}

void Conversation::end(Ending ending) {
  if (state_ == State::Ended) return;
  state_ = State::Ended;
  ending_ = std::move(ending);
}

void Conversation::cut(std::string reason) {
  end({ErrorKind::Unavailable, 1006, std::move(reason), true});
  written(output().size());
}

bool Conversation::deliver_end() {
  if (state_ != State::Ended || std::exchange(has_delivered_end_, true)) return false;
  ++calls_;
  const Error error = Error::unavailable("the connection has ended with " + to_string(*ending_) +
                                         "; whether the request was carried out is unknown");
  deadlines_.clear();
  for (auto& [seq, request] : std::exchange(requests_, {})) request.done(fail(error));
  if (const auto handler = on_end) handler(*ending_);
  return true;
}

void Conversation::written(std::size_t bytes) {
  written_ += bytes;
  // Moved together now and then, so that what was written does not pile up in front.
  if (written_ < out_.size() && written_ < shift_after_bytes) return;
  out_.erase(out_.begin(), out_.begin() + static_cast<std::ptrdiff_t>(written_));
  written_ = 0;
}

}  // namespace spotmesh::client
