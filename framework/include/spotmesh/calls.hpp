// Calls: operations that are described step by step and then submitted once.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <spotmesh/error.hpp>
#include <spotmesh/message.hpp>
#include <spotmesh/packet.hpp>
#include <spotmesh/task.hpp>
#include <spotmesh/time.hpp>

namespace spotmesh::objects {

class Caller;

enum class TargetKind { Actor, Spot };

// How a turn waits: keeping its gate, or giving it back meanwhile.
enum class Waiting { KeepTurn, YieldGate };

}  // namespace spotmesh::objects

namespace spotmesh {

// Common to all calls: an option set twice, or a second submit, is InvalidOperation; the first
// submit goes on. The operation starts inside submit(), on the current turn; the Task only waits.
// Outside a turn every call is InvalidOperation. The deadline is fixed at submit (default 5 s) and
// spans everything up to the reply.
class CallState {
 public:
  CallState(objects::Caller& caller, std::string id) : caller_(&caller), id_(std::move(id)) {}

 protected:
  template <typename T>
  void set_once(std::optional<T>& option, T value, std::string_view name) {
    if (option.has_value()) note_set_twice(name);
    option = std::move(value);
  }
  void note_set_twice(std::string_view option);
  // The misuse that forbids this submit, or nothing; from now on the call is submitted.
  Result<void> take_submission();

  objects::Caller* caller_;
  std::string id_;
  std::optional<Duration> timeout_;

 private:
  std::optional<Error> misuse_;
  bool is_submitted_ = false;
};

// A one-way message to an Actor or Spot.
class [[nodiscard]] SendCall : private CallState {
 public:
  SendCall(objects::Caller& caller, objects::TargetKind kind, std::string id, Message message)
      : CallState(caller, std::move(id)), kind_(kind), message_(std::move(message)) {}

  // A small pair that arrives with the message; at most 16 pairs and 4096 bytes together.
  SendCall& metadata(std::string key, std::string value) &;
  SendCall&& metadata(std::string key, std::string value) &&;

  // Done when the receiver's mailbox, or the outbound queue to its node, has accepted the message;
  // what its handler does later changes nothing. Messages of one gate to one id keep their order,
  // also when the Tasks are not awaited. NotFound: nothing lives under the id. Unavailable: it is
  // being created, its owner or the store is away. CapacityExceeded: its mailbox is full.
  Task<Result<void>> submit();

 private:
  objects::TargetKind kind_;
  Message message_;
};

// What RequestCall<Reply> does without knowing the reply's type.
class RawRequestCall : private CallState {
 public:
  RawRequestCall(objects::Caller& caller, objects::TargetKind kind, std::string id, Message message)
      : CallState(caller, std::move(id)), kind_(kind), message_(std::move(message)) {}

  void add_metadata(std::string key, std::string value);
  void set_timeout(Duration timeout) { set_once(timeout_, timeout, "timeout"); }
  Task<Result<Message>> submit(objects::Waiting waiting);

 private:
  objects::TargetKind kind_;
  Message message_;
};

namespace detail {

template <Packet Reply>
Task<Result<Reply>> decoded(Task<Result<Message>> pending) {
  Result<Message> reply = co_await std::move(pending);
  if (!reply) co_return fail(reply.error());
  co_return reply->template decode<Reply>();
}

}  // namespace detail

// A request to an Actor or Spot and its one reply.
template <Packet Reply>
class [[nodiscard]] RequestCall {
 public:
  explicit RequestCall(RawRequestCall call) : call_(std::move(call)) {}

  RequestCall& metadata(std::string key, std::string value) & {
    call_.add_metadata(std::move(key), std::move(value));
    return *this;
  }
  RequestCall&& metadata(std::string key, std::string value) && {
    call_.add_metadata(std::move(key), std::move(value));
    return std::move(*this);
  }
  RequestCall& timeout(Duration timeout) & {
    call_.set_timeout(timeout);
    return *this;
  }
  RequestCall&& timeout(Duration timeout) && {
    call_.set_timeout(timeout);
    return std::move(*this);
  }

  // Completes exactly once with the first of reply, error, deadline and shutdown; never resent. The
  // turn is kept meanwhile: nothing else of this gate runs. A request to an object of this same
  // gate could only wait for ever and is InvalidOperation. A reply of another packet type is
  // ProtocolError.
  Task<Result<Reply>> submit() {
    return detail::decoded<Reply>(call_.submit(objects::Waiting::KeepTurn));
  }
  // As submit(), but gives the gate back while it waits and goes on in a new turn. Only in handlers
  // that run on the gate of a SpotWide User Spot or an Instance Spot; anywhere else
  // InvalidOperation and nothing is sent. The Actor's next message still waits for this handler.
  Task<Result<Reply>> yield() {
    return detail::decoded<Reply>(call_.submit(objects::Waiting::YieldGate));
  }

 private:
  RawRequestCall call_;
};

}  // namespace spotmesh
