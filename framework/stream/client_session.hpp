// ClientSession: one client connection as the gateway runs it.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <spotmesh/error.hpp>
#include <spotmesh/ids.hpp>
#include <spotmesh/logger.hpp>
#include <spotmesh/message.hpp>
#include <spotmesh/session.hpp>
#include <spotmesh/task.hpp>

#include "base/small_mutex.hpp"
#include "runtime/completion.hpp"
#include "runtime/gate.hpp"
#include "runtime/mailbox.hpp"
#include "runtime/timers.hpp"
#include "stream/bound_actors.hpp"
#include "stream/client_links.hpp"
#include "stream/gateway.hpp"
#include "stream/packet_count.hpp"
#include "stream/request_table.hpp"
#include "stream/session_ending.hpp"
#include "stream/session_face.hpp"
#include "stream/session_life.hpp"
#include "stream/session_outbound.hpp"
#include "stream/session_protocol.hpp"
#include "stream/session_reader.hpp"
#include "stream/session_row.hpp"

namespace spotmesh::stream {

// Three threads may be at work in it at once: the link's (reading), its gate's (handlers and
// callbacks) and anybody's (pushes, replies, the strand's checks). Locks, each a leaf for those
// before it: the reader's, then `mutex_`, then those of BoundActors and SessionOutbound.
class ClientSession final : public OutboundOwner, private ReaderListener {
 public:
  ClientSession(std::shared_ptr<Gateway> gateway, ClientLink& link, std::string remote_address,
                std::unique_ptr<SessionProtocol> protocol);

  // Enters the directory and begins with the connect callback.
  void start();

  const SessionId& id() const { return id_; }
  const std::string& remote_address() const { return remote_address_; }
  Gateway& gateway() const { return *gateway_; }
  SessionState state() const;
  // Any thread.
  SessionRow look() const;

  // The link's calls.
  void on_bytes(ByteView bytes) { reader_.on_bytes(bytes); }
  void on_drained() { outbound_.on_drained(); }
  void on_link_closed(std::string_view reason);

  // Any thread.
  void close(SessionEnding ending);
  void close_at_turn_end(SessionEnding ending) { outbound_.close_at_turn_end(std::move(ending)); }
  Result<void> push(const Message& message);
  // Of one binding: stale ones are refused.
  Result<void> push(const objects::BindingIdentity& binding, const Message& message);
  void disconnect(const objects::BindingIdentity& binding, std::string reason);
  void on_replaced(const objects::BindingIdentity& binding, const ActorRef& actor);
  void on_actor_gone(const objects::BindingIdentity& binding);
  // The node has crashed or ends without waiting: nothing of this session runs any more.
  void abandon();

  // Its own turns.
  Task<Result<void>> bind(ActorRef actor);
  Task<Result<void>> unbind(ActorId actor);
  std::vector<ActorRef> bound_actors() const { return bound_.actors(); }

  // For PacketJob, on a turn of this session.
  Session* object() const { return object_.get(); }
  // Packets that wait are not handled any more.
  bool drops_what_waits() const { return drops_what_waits_.load(); }
  bool is_live() const { return is_live_.load(); }
  // Whether nobody has answered it yet. Before its deadline only its own turn does.
  bool is_pending(const RequestKey& request) const;
  BoundActors& bound() { return bound_; }
  // Passes a packet on to a bound Actor, which takes it if this succeeds. Errors as
  // Bindings::relay.
  Result<void> relay(const Binding& binding, Message& message, const RequestKey& request,
                     std::optional<Instant> deadline);
  // While it lasts, the client is not read. Wakes early when the session ends.
  void begin_stall(const runtime::Ref<runtime::Completion<bool>>& wake);
  void end_stall();
  // Answers a request if nobody has yet. Any thread.
  void answer(const RequestKey& request, const Result<Message>& reply);
  // A packet of this client could not be handled: on_error, in a turn of its own.
  void report(const Error& error);
  void packet_done();
  void log_failure(const Error& error) const;

 private:
  class SessionReply;
  class Timer final : public runtime::TimerEntry {
   public:
    explicit Timer(ClientSession& session) : session_(session) {}
    void on_timer(Instant) override;

   private:
    ClientSession& session_;
  };

  // ReaderListener
  bool can_take() const override;
  bool can_resume() const override;
  void on_event(InboundEvent event) override;
  void on_ping(ByteView payload) override { outbound_.pong(protocol_->encode_pong(payload)); }
  void on_held_back(Instant until) override;
  void on_over_quota(std::string reason) override;
  void take_packet(InboundEvent& event);
  // A packet that no handler here takes goes to the bound Actor of this node without a turn of the
  // session, when nothing of the session is under way that it could overtake. False: it needs one,
  // which says what there is to say.
  bool relay_at_once(Message& message, const RequestKey& request, std::optional<Instant> deadline);
  void take_refused(InboundEvent& event);
  // The request may be unanswered from now on. Empty: it was refused.
  std::optional<RequestKey> admit(wire::RequestSeq seq, std::optional<Instant>& deadline);

  // Made when there is something to say: most sessions never have, and stay small.
  Logger logger() const;

  // OutboundOwner
  void flush() override { outbound_.flush_own(); }
  void on_slow_reader(std::string reason) override;
  void on_close_due(SessionEnding ending) override { close(std::move(ending)); }
  void on_check_due(Instant when) override;

  // Callbacks. `what` is a literal.
  void push_callback(runtime::Lane lane, std::string_view what, std::function<Task<void>()> body,
                     std::function<void()> done);
  Task<void> connect();
  void begin_disconnect();
  Task<void> disconnect_object();
  void finish_disconnect();
  void end_bindings();
  void begin_replaced_delay();
  void become_gone();

  // Deadlines, on the strand.
  void check_deadlines();
  void check_heartbeat(Instant now);
  void expire_requests(Instant now);
  void check_replaced(Instant now);
  void ping_unheard(Instant now, Duration interval);
  void rearm(Instant now);
  void arm_locked(Instant when);

  Result<void> require_own_turn(std::string_view what, const ActorId& actor) const;
  void on_bound(const objects::BindingIdentity& binding, const ActorId& actor,
                const Result<void>& result);
  void count_ending(DisconnectReason::Kind kind);
  void send_reply(wire::RequestSeq seq, const Result<Message>& reply);
  void wake_reader();
  // The first of its kind only: a hostile client shall not fill the log.
  void log_first(const Error& error);
  Task<void> call_on_error(const Error& error);

  const std::shared_ptr<Gateway> gateway_;
  const SessionId id_;
  const std::string remote_address_;
  const std::unique_ptr<SessionProtocol> protocol_;
  runtime::Ref<runtime::Gate> gate_;
  runtime::Mailbox mailbox_;
  SessionOutbound outbound_;
  SessionReader reader_;
  BoundActors bound_;
  SessionFace face_;
  std::unique_ptr<Session> object_;  // touched on the gate alone

  PacketCount packets_;
  std::atomic<bool> is_stalled_{false};
  std::atomic<bool> drops_what_waits_{false};
  std::atomic<bool> is_live_{true};
  std::atomic<bool> has_logged_error_{false};
  std::atomic<bool> has_logged_quota_{false};

  mutable SmallMutex mutex_;
  SessionLife life_;
  SessionEnding ending_;
  RequestTable requests_;
  std::optional<Instant> replaced_close_at_;
  std::string replaced_reason_;
  runtime::Ref<runtime::Completion<bool>> stall_wake_;
  std::optional<Instant> pinged_after_;  // the client was pinged for its silence since then
  Instant pinged_unheard_at_{};          // while it was not read
  std::optional<Instant> outbound_check_at_;
  std::optional<Instant> armed_for_;
  Timer timer_;
};

}  // namespace spotmesh::stream
