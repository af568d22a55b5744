// The jobs of a session's mailbox.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <string_view>

#include <spotmesh/error.hpp>
#include <spotmesh/message.hpp>
#include <spotmesh/message_context.hpp>
#include <spotmesh/registration.hpp>
#include <spotmesh/task.hpp>

#include "runtime/job.hpp"
#include "stream/bound_actors.hpp"
#include "stream/request_table.hpp"

namespace spotmesh::stream {

class ClientSession;

// A lifecycle callback. A throw is counted and logged; `done` is called either way, on the
// session's turn, or anywhere when the mailbox was closed first.
class CallbackJob final : public runtime::Job {
 public:
  // `what` is a literal. The session outlives the job, since it owns the mailbox.
  CallbackJob(ClientSession& session, std::string_view what, std::function<Task<void>()> body,
              std::function<void()> done);

  Task<void> run(runtime::Turn&) override { return body_(); }
  void finished(runtime::Turn& turn, std::exception_ptr failure) override;
  void refuse(const Error&) override { done_(); }

 private:
  ClientSession& session_;
  std::string_view what_;
  std::function<Task<void>()> body_;
  std::function<void()> done_;
};

// A packet of the client: to the session's own handler, else to the one bound Actor.
class PacketJob final : public runtime::Job {
 public:
  PacketJob(ClientSession& session, Message message, RequestKey request,
            std::optional<Instant> deadline);

  Task<void> run(runtime::Turn& turn) override;
  void finished(runtime::Turn& turn, std::exception_ptr failure) override;
  void refuse(const Error& error) override;

 private:
  enum class Outcome : std::uint8_t { Handled, Relayed, NotRelayed, NoHandler, Dropped };

  registration::MessageKind kind() const;
  const registration::Handler* find_handler() const;
  Task<void> relay();
  void note_relay(const Result<void>& relayed);
  // The Actor's mailbox is full: tries again until it takes the packet, keeping the session's turn
  // so that no later packet overtakes.
  Task<void> relay_until_taken(BindingHandle binding);
  bool is_awaited(Instant now) const;
  std::optional<Error> failure_of(std::exception_ptr failure);
  void finish_request(const std::optional<Error>& error);

  ClientSession& session_;
  Message message_;
  RequestKey request_;
  std::optional<Instant> deadline_;
  Outcome outcome_ = Outcome::Handled;
  std::optional<Error> relay_error_;
  std::optional<MessageContext> context_;
  registration::Invocation invocation_;
};

}  // namespace spotmesh::stream
