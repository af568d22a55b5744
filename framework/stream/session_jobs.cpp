#include "stream/session_jobs.hpp"

#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "base/backoff.hpp"
#include "runtime/completion.hpp"
#include "runtime/timers.hpp"
#include "stream/client_session.hpp"

namespace spotmesh::stream {
namespace {

using namespace std::chrono_literals;
using registration::MessageKind;
using registration::Receiver;

constexpr Backoff::Waits relay_waits{.first = 1ms, .longest = 50ms};

// What a handler or callback threw.
Error error_of(std::exception_ptr failure, std::string_view what) {
  try {
    std::rethrow_exception(std::move(failure));
  } catch (const std::exception& thrown) {
    return Error::internal_failure(fmt::format("{} threw: {}", what, thrown.what()));
  } catch (...) {
    return Error::internal_failure(
        fmt::format("{} threw something that is no std::exception", what));
  }
}

// Completes a wait when its time has come; disarmed when it goes, also with an abandoned turn.
class WakeTimer final : public runtime::TimerEntry {
 public:
  WakeTimer(runtime::Timers& timers, runtime::Ref<runtime::Completion<bool>> wake, Instant when)
      : timers_(timers), wake_(std::move(wake)) {
    timers_.arm(*this, when);
  }
  WakeTimer(const WakeTimer&) = delete;
  WakeTimer& operator=(const WakeTimer&) = delete;
  ~WakeTimer() override { timers_.cancel(*this); }

  void on_timer(Instant) override { wake_->complete(true); }

 private:
  runtime::Timers& timers_;
  runtime::Ref<runtime::Completion<bool>> wake_;
};

}  // namespace

CallbackJob::CallbackJob(ClientSession& session, std::string_view what,
                         std::function<Task<void>()> body, std::function<void()> done)
    : session_(session), what_(what), body_(std::move(body)), done_(std::move(done)) {}

void CallbackJob::finished(runtime::Turn&, std::exception_ptr failure) {
  if (failure != nullptr) {
    session_.gateway().metrics.handler_throws.add();
    session_.log_failure(error_of(std::move(failure), what_));
  }
  done_();
}

PacketJob::PacketJob(ClientSession& session, Message message, RequestKey request,
                     std::optional<Instant> deadline)
    : session_(session), message_(std::move(message)), request_(request), deadline_(deadline) {}

MessageKind PacketJob::kind() const {
  return request_.is_one_way() ? MessageKind::Send : MessageKind::Request;
}

const registration::Handler* PacketJob::find_handler() const {
  if (session_.object() == nullptr) return nullptr;
  return session_.gateway().type.handlers.find(Receiver::Session, kind(),
                                               message_.descriptor()->id);
}

// A request is answered without its turn only when its deadline has passed.
bool PacketJob::is_awaited(Instant now) const {
  return request_.is_one_way() || now < *deadline_ || session_.is_pending(request_);
}

Task<void> PacketJob::run(runtime::Turn& turn) {
  if (session_.drops_what_waits() || !is_awaited(turn.now())) {
    outcome_ = Outcome::Dropped;
    return {};
  }
  const registration::Handler* handler = find_handler();
  if (handler == nullptr) return relay();
  context_.emplace(message_, deadline_);
  invocation_.context = &*context_;
  invocation_.session = session_.object();
  return handler->invoke(invocation_);
}

Task<void> PacketJob::relay() {
  BindingHandle binding = session_.bound().only_one();
  if (binding == nullptr) {
    outcome_ = Outcome::NoHandler;
    return {};
  }
  const Result<void> relayed = session_.relay(*binding, message_, request_, deadline_);
  if (!relayed && relayed.error().kind() == ErrorKind::CapacityExceeded) {
    return relay_until_taken(std::move(binding));
  }
  note_relay(relayed);
  return {};
}

void PacketJob::note_relay(const Result<void>& relayed) {
  outcome_ = relayed ? Outcome::Relayed : Outcome::NotRelayed;
  if (!relayed) relay_error_ = relayed.error();
}

Task<void> PacketJob::relay_until_taken(BindingHandle binding) {
  Backoff backoff(relay_waits);
  while (true) {
    auto wake = runtime::make_completion<bool>();
    {
      const WakeTimer timer(session_.gateway().seams.timers, wake,
                            runtime::Turn::current()->now() + backoff.next());
      session_.begin_stall(wake);
      co_await wake->wait();
    }
    if (!is_awaited(runtime::Turn::current()->now())) {
      outcome_ = Outcome::Dropped;
      break;
    }
    const Result<void> relayed = session_.relay(*binding, message_, request_, deadline_);
    if (relayed || relayed.error().kind() != ErrorKind::CapacityExceeded) {
      note_relay(relayed);
      break;
    }
    if (!session_.is_live()) {
      outcome_ = Outcome::Dropped;
      break;
    }
  }
  session_.end_stall();
}

std::optional<Error> PacketJob::failure_of(std::exception_ptr failure) {
  StreamMetrics& metrics = session_.gateway().metrics;
  if (failure != nullptr) {
    metrics.handler_throws.add();
    return error_of(std::move(failure),
                    fmt::format("the session's handler for packet '{}'", message_.packet_name()));
  }
  switch (outcome_) {
    case Outcome::Handled:
      (invocation_.error.has_value() ? metrics.handler_errors : metrics.handled).add();
      return invocation_.error;
    case Outcome::Relayed:
      metrics.relayed.add();
      return {};
    case Outcome::NotRelayed:
      return relay_error_;
    case Outcome::NoHandler:
      metrics.no_handler.add();
      return Error::not_found(
          fmt::format("the session has no handler for packet '{}', and {} Actors are bound to it "
                      "where exactly one would get the packet",
                      message_.packet_name(), session_.bound().count()));
    case Outcome::Dropped:
      metrics.dropped_packets.add();
      return {};
  }
  return {};
}

void PacketJob::finished(runtime::Turn&, std::exception_ptr failure) {
  const std::optional<Error> error = failure_of(std::move(failure));
  if (request_.is_one_way()) {
    if (error.has_value()) session_.report(*error);
  } else {
    finish_request(error);
  }
  session_.packet_done();
}

void PacketJob::finish_request(const std::optional<Error>& error) {
  if (outcome_ == Outcome::Dropped) return;
  if (error.has_value()) {
    session_.answer(request_, fail(*error));
    if (outcome_ == Outcome::NoHandler) session_.report(*error);
  } else if (outcome_ == Outcome::Handled) {
    session_.answer(request_, *std::move(invocation_.reply));
  }
}

void PacketJob::refuse(const Error&) {
  session_.gateway().metrics.dropped_packets.add();
  session_.packet_done();
}

}  // namespace spotmesh::stream
