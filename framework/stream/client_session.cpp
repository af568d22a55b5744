#include "stream/client_session.hpp"

#include <chrono>
#include <mutex>
#include <utility>

#include <fmt/format.h>

#include "stream/session_jobs.hpp"

namespace spotmesh::stream {

using runtime::Lane;
using runtime::Ref;

namespace {

runtime::Mailbox::Bounds mailbox_bounds(const StreamOptions& options) {
  // One more than the packets: the disconnect callback always finds its place behind them.
  return {.application_jobs = options.inbound_jobs + 1};
}

}  // namespace

ClientSession::ClientSession(std::shared_ptr<Gateway> gateway, ClientLink& link,
                             std::string remote_address, std::unique_ptr<SessionProtocol> protocol)
    : gateway_(std::move(gateway)),
      id_(random_id<SessionId>(gateway_->seams.random)),
      remote_address_(std::move(remote_address)),
      protocol_(std::move(protocol)),
      gate_(gateway_->new_gate()),
      mailbox_(*this, *gate_, mailbox_bounds(gateway_->options)),
      outbound_(*this, link, gateway_->seams.clock, gateway_->options, gateway_->metrics),
      reader_(*this, *protocol_, link, gateway_->seams.clock, gateway_->options, gateway_->metrics),
      bound_(gateway_->options.bound_actors),
      face_(*this, gateway_->make_caller(id_)),
      requests_(gateway_->options.requests_in_flight),
      timer_(*this) {}

void ClientSession::start() {
  gateway_->metrics.sessions.add();
  gateway_->metrics.sessions_opened.add();
  gateway_->sessions.add(id_, Ref(this));
  gateway_->seams.events.emit({"session.opened", to_string(id_), {{"client", remote_address_}}});
  push_callback(Lane::Control, "on_connect", [this] { return connect(); }, [] {});
  std::lock_guard lock(mutex_);
  arm_locked(reader_.last_heard() + gateway_->options.heartbeat_interval);
}

SessionState ClientSession::state() const {
  std::lock_guard lock(mutex_);
  return life_.state();
}

Logger ClientSession::logger() const {
  return Logger(gateway_->seams.log, "session",
                {{"session", to_string(id_)}, {"client", remote_address_}});
}

void ClientSession::log_failure(const Error& error) const { logger().error(to_string(error)); }

void ClientSession::push_callback(Lane lane, std::string_view what,
                                  std::function<Task<void>()> body, std::function<void()> done) {
  auto job = std::make_unique<CallbackJob>(*this, what, std::move(body), done);
  // The lane is full or the mailbox closed: it is as if the callback had ended.
  if (!mailbox_.push(lane, std::move(job))) done();
}

// The game's object is made on the session's own turn, like all that it does afterwards.
Task<void> ClientSession::connect() {
  std::string fault = "the Session factory returned no session";
  try {
    object_ = gateway_->type.model->factory(face_);
  } catch (const std::exception& thrown) {
    fault = fmt::format("the Session factory threw: {}", thrown.what());
  } catch (...) {
    fault = "the Session factory threw something that is no std::exception";
  }
  if (object_ != nullptr) return object_->on_connect();
  gateway_->metrics.handler_throws.add();
  logger().error(fault);
  close_at_turn_end(SessionEnding::failed("the server could not make a session"));
  return {};
}

void ClientSession::close(SessionEnding ending) {
  SharedBytes last_words = protocol_->encode_close(ending.close);
  {
    std::lock_guard lock(mutex_);
    if (!life_.close()) return;
    ending_ = std::move(ending);
  }
  reader_.stop();
  outbound_.finish(std::move(last_words));
  begin_disconnect();
}

void ClientSession::on_link_closed(std::string_view reason) {
  reader_.link_gone();
  outbound_.link_gone();
  bool was_live = false;
  bool is_gone = false;
  {
    std::lock_guard lock(mutex_);
    was_live = life_.is_live();
    if (!life_.lose_link()) return;
    if (was_live) ending_ = SessionEnding::link_lost(std::string(reason));
    is_gone = life_.state() == SessionState::Gone;
  }
  if (was_live) begin_disconnect();
  if (is_gone) become_gone();
}

// Called once. Nothing changes `ending_` any more.
void ClientSession::begin_disconnect() {
  Ref<runtime::Completion<bool>> stalled;
  {
    std::lock_guard lock(mutex_);
    is_live_.store(false);
    stalled = std::exchange(stall_wake_, {});
  }
  count_ending(ending_.reason.kind);
  if (ending_.is_misconduct()) {
    logger().info(fmt::format("client closed with {}: {}", wire::to_string(ending_.close.code),
                              ending_.reason.text));
  }
  gateway_->seams.events.emit(
      {"session.closed", to_string(id_), {{"reason", ending_.reason.text}}});
  Lane lane = Lane::Application;
  if (!ending_.runs_what_waits()) {
    drops_what_waits_.store(true);
    end_bindings();
    lane = Lane::Control;
  }
  if (stalled) stalled->complete(false);
  push_callback(
      lane, "on_disconnect", [this] { return disconnect_object(); },
      [this] { finish_disconnect(); });
}

Task<void> ClientSession::disconnect_object() {
  end_bindings();
  if (object_ == nullptr) return {};
  return object_->on_disconnect(ending_.reason);
}

void ClientSession::finish_disconnect() {
  object_.reset();
  mailbox_.close(Error::unavailable("the client's session has ended"));
  bool is_gone = false;
  {
    std::lock_guard lock(mutex_);
    if (!life_.finish_disconnect()) return;
    is_gone = life_.state() == SessionState::Gone;
  }
  if (is_gone) become_gone();
}

void ClientSession::become_gone() {
  gateway_->seams.timers.cancel(timer_);
  gateway_->metrics.sessions.add(-1);
  gateway_->sessions.remove(id_);
}

void ClientSession::abandon() {
  const Ref<ClientSession> self(this);
  reader_.link_gone();
  outbound_.abort();
  outbound_.link_gone();
  gate_->abandon();
  {
    std::lock_guard lock(mutex_);
    while (life_.close() || life_.lose_link() || life_.finish_disconnect()) {
    }
    is_live_.store(false);
  }
  become_gone();
}

void ClientSession::count_ending(DisconnectReason::Kind kind) {
  StreamMetrics& metrics = gateway_->metrics;
  switch (kind) {
    case DisconnectReason::Kind::ClientClosed:
      return metrics.closed_by_client.add();
    case DisconnectReason::Kind::ServerClosed:
      return metrics.closed_by_server.add();
    case DisconnectReason::Kind::Replaced:
      return metrics.closed_replaced.add();
    case DisconnectReason::Kind::ConnectionLost:
      return metrics.closed_lost.add();
    case DisconnectReason::Kind::ProtocolError:
      return metrics.closed_for_protocol.add();
    case DisconnectReason::Kind::SlowClient:
      return metrics.closed_slow.add();
    case DisconnectReason::Kind::QuotaExceeded:
      return metrics.closed_over_quota.add();
    case DisconnectReason::Kind::Shutdown:
      return metrics.closed_for_shutdown.add();
  }
}

void ClientSession::on_slow_reader(std::string reason) {
  close(SessionEnding::slow_reader(std::move(reason)));
}

Result<void> ClientSession::push(const Message& message) {
  if (!is_live()) return fail(Error::unavailable("the client's session has ended"));
  auto frame = gateway_->encodings.encode(*protocol_, message);
  if (!frame) return fail(frame.error());
  if (auto fits = protocol_->check_fits(*frame); !fits) return fits;
  const wire::Delivery delivery = gateway_->delivery_of(message);
  auto pushed =
      delivery.is_reliable()
          ? outbound_.push(*std::move(frame))
          : outbound_.push(*std::move(frame), {message.descriptor()->id, delivery.only_latest,
                                               std::chrono::milliseconds(delivery.drop_after_ms)});
  if (pushed) gateway_->metrics.pushes_out.add();
  return pushed;
}

void ClientSession::report(const Error& error) {
  log_first(error);
  push_callback(Lane::Control, "on_error", [this, error] { return call_on_error(error); }, [] {});
}

Task<void> ClientSession::call_on_error(const Error& error) {
  if (object_ == nullptr || drops_what_waits()) return {};
  return object_->on_error(error);
}

void ClientSession::log_first(const Error& error) {
  if (has_logged_error_.exchange(true)) return;
  logger().warning(fmt::format(
      "a packet was not handled: {}; others of this session are only counted", to_string(error)));
}

}  // namespace spotmesh::stream
