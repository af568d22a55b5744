#include "stream/handshake.hpp"

#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "wire/stream_handshake.hpp"

namespace spotmesh::stream {

using runtime::Ref;
using wire::CloseCode;

namespace {

// Pings and pongs before Hello. An honest client has one or two to say; each ping that is answered
// costs a pong that its sender may leave unread, and no quota counts here yet.
constexpr unsigned most_heartbeats = 64;

std::uint32_t in_milliseconds(Duration time) {
  return static_cast<std::uint32_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(time).count());
}

wire::StreamWelcome welcome_to(const SessionId& session, const StreamOptions& options) {
  return {.session = to_string(session),
          .message_bytes = static_cast<std::uint32_t>(options.message_bytes),
          .requests_in_flight = static_cast<std::uint32_t>(options.requests_in_flight),
          .request_timeout_ms = in_milliseconds(options.request_timeout),
          .heartbeat_ms = in_milliseconds(options.heartbeat_interval)};
}

}  // namespace

void Handshake::Timer::on_timer(Instant) {
  handshake_.gateway_->seams.strand.post([handshake = Ref(&handshake_)] {
    handshake->expire(
        fmt::format("no Hello came within {} s", std::chrono::duration_cast<std::chrono::seconds>(
                                                     handshake->gateway_->options.handshake_timeout)
                                                     .count()));
  });
}

Handshake::Handshake(std::shared_ptr<Gateway> gateway, ClientLink& link, std::string remote_address,
                     std::unique_ptr<SessionProtocol> protocol)
    : gateway_(std::move(gateway)),
      remote_address_(std::move(remote_address)),
      timer_(*this),
      link_(&link),
      protocol_(std::move(protocol)) {}

void Handshake::start() {
  gateway_->metrics.handshakes.add();
  gateway_->sessions.add_coming();
  gateway_->seams.timers.arm(timer_,
                             gateway_->seams.clock.now() + gateway_->options.handshake_timeout);
  if (const auto oldest = gateway_->handshakes->add(Ref(this))) {
    oldest->expire("no Hello came, and others wait for the place");
  }
}

SessionDirectory::SessionRef Handshake::on_bytes(ByteView bytes) {
  SessionDirectory::SessionRef session;
  {
    std::lock_guard lock(mutex_);
    if (link_ == nullptr) return {};
    gateway_->metrics.bytes_in.add(static_cast<std::int64_t>(bytes.size()));
    ByteView rest = bytes;
    while (take_locked(protocol_->next(rest))) {
    }
    bytes = rest;
    if (link_ != nullptr) return {};
    session = std::exchange(session_, {});
  }
  if (session) session->start();
  // Not before: a server that stops waits for who is among the sessions or here.
  leave();
  if (!session) return {};
  // The server's stop() may have looked at the sessions just before this one was among them.
  if (gateway_->is_stopping.load()) session->close(SessionEnding::shutdown(stopping_reason));
  session->on_bytes(bytes);
  return session;
}

bool Handshake::take_locked(InboundEvent event) {
  switch (event.kind) {
    case InboundEvent::Kind::NeedMoreBytes:
      return false;
    case InboundEvent::Kind::Hello:
      welcome_locked();
      return false;
    case InboundEvent::Kind::Ping:
    case InboundEvent::Kind::Pong:
      return take_heartbeat_locked(event);
    case InboundEvent::Kind::Close:
      refuse_locked({event.close.code, {}});
      return false;
    // A protocol that begins with Hello lets no packet pass before it.
    case InboundEvent::Kind::Packet:
    case InboundEvent::Kind::Refused:
    case InboundEvent::Kind::Failed:
      refuse_and_tell_locked(event.close);
      return false;
  }
  return false;
}

bool Handshake::take_heartbeat_locked(const InboundEvent& event) {
  if (++heartbeats_ > most_heartbeats) {
    refuse_and_tell_locked({CloseCode::QuotaExceeded,
                            fmt::format("more than {} pings before Hello", most_heartbeats)});
    return false;
  }
  if (event.kind == InboundEvent::Kind::Ping) link_->send({protocol_->encode_pong(event.payload)});
  return true;
}

void Handshake::welcome_locked() {
  if (!gateway_->has_room()) return refuse_locked(gateway_->no_room());
  ClientLink& link = *std::exchange(link_, nullptr);
  const SessionProtocol& protocol = *protocol_;
  session_ = runtime::make_ref<ClientSession>(gateway_, link, remote_address_,
                                              std::exchange(protocol_, nullptr));
  SharedBytes welcome = protocol.encode_welcome(welcome_to(session_->id(), gateway_->options));
  gateway_->metrics.bytes_out.add(static_cast<std::int64_t>(welcome.size()));
  link.send({std::move(welcome)});
}

void Handshake::refuse_and_tell_locked(const wire::WebSocketClose& close) {
  gateway_->metrics.handshakes_refused.add();
  gateway_->seams.log.write(LogLevel::Info, "session", "client refused",
                            {{"client", remote_address_}, {"error", close.reason}});
  refuse_locked(close);
}

void Handshake::refuse_locked(const wire::WebSocketClose& close) {
  ClientLink& link = *std::exchange(link_, nullptr);
  link.send({protocol_->encode_close(close)});
  link.close_after_flush();
}

void Handshake::expire(std::string reason) {
  {
    std::lock_guard lock(mutex_);
    if (link_ == nullptr) return;
    gateway_->metrics.handshakes_expired.add();
    refuse_locked({CloseCode::Unresponsive, std::move(reason)});
  }
  leave();
}

void Handshake::shut_down(const std::string& reason) {
  {
    std::lock_guard lock(mutex_);
    if (link_ == nullptr) return;
    refuse_locked({CloseCode::GoingAway, reason});
  }
  leave();
}

void Handshake::abandon() {
  {
    std::lock_guard lock(mutex_);
    if (link_ == nullptr) return;
    std::exchange(link_, nullptr)->abort();
  }
  leave();
}

void Handshake::on_closed() {
  {
    std::lock_guard lock(mutex_);
    link_ = nullptr;
  }
  leave();
}

// Nothing waits for this client's Hello any more.
void Handshake::leave() {
  if (!gateway_->handshakes->remove(*this)) return;
  gateway_->seams.timers.cancel(timer_);
  gateway_->metrics.handshakes.add(-1);
  gateway_->sessions.remove_coming();
}

Ref<Handshake> Handshakes::add(Ref<Handshake> handshake) {
  std::lock_guard lock(mutex_);
  const std::uint64_t age = ++added_;
  ages_.emplace(handshake.get(), age);
  by_age_.emplace(age, std::move(handshake));
  return by_age_.size() > most_ ? by_age_.begin()->second : Ref<Handshake>();
}

bool Handshakes::remove(const Handshake& handshake) {
  Ref<Handshake> removed;
  std::lock_guard lock(mutex_);
  const auto found = ages_.find(&handshake);
  if (found == ages_.end()) return false;
  const auto place = by_age_.find(found->second);
  removed = std::move(place->second);
  by_age_.erase(place);
  ages_.erase(found);
  return true;
}

std::vector<Ref<Handshake>> Handshakes::all() const {
  std::lock_guard lock(mutex_);
  std::vector<Ref<Handshake>> handshakes;
  handshakes.reserve(by_age_.size());
  for (const auto& [age, handshake] : by_age_) handshakes.push_back(handshake);
  return handshakes;
}

}  // namespace spotmesh::stream
