#include <algorithm>
#include <deque>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <spotmesh/client/connection.hpp>

#include "client/deadline.hpp"
#include "net/system_clock.hpp"

namespace spotmesh::client {

namespace {

// What a push that waits costs beside its payload.
constexpr std::size_t push_overhead_bytes = 128;

std::size_t cost_of(const Message& push) { return push.payload().size() + push_overhead_bytes; }

}  // namespace

class Connection::Parts {
 public:
  Parts(Client client, const ConnectionOptions& options);

  // Until the server has let this client in.
  Result<void> enter();
  Result<Message> request(const Message& packet);
  Result<void> send(const Message& packet);
  Result<Message> next_push(Duration timeout);
  void cut() { client_.cut(); }

 private:
  void keep(const Message& push);
  // Polls until it is so or the time is over; an error once the connection has ended.
  template <typename Condition>
  Result<bool> wait_until(Condition is_so, Duration timeout);
  Error ended();

  Client client_;
  net::SystemClock clock_;
  const Duration timeout_;
  std::deque<Message> pushes_;
  std::size_t pushes_bytes_ = 0;  // what pushes_ costs
  const std::size_t most_pushes_bytes_;
  std::optional<Error> overflow_;  // until a call has told of it
};

Connection::Parts::Parts(Client client, const ConnectionOptions& options)
    : client_(std::move(client)),
      timeout_(options.timeout),
      most_pushes_bytes_(options.pushes_bytes) {
  client_.on_other_push([this](const Message& push) { keep(push); });
}

template <typename Condition>
Result<bool> Connection::Parts::wait_until(Condition is_so, Duration timeout) {
  const Instant deadline = deadline_after(clock_.now(), timeout);
  while (!is_so()) {
    const Duration left = deadline - clock_.now();
    if (!client_.poll(std::max(Duration::zero(), left))) {
      if (is_so()) return true;
      return fail(ended());
    }
    if (left <= Duration::zero()) return is_so();
  }
  return true;
}

Error Connection::Parts::ended() {
  if (overflow_.has_value()) return *std::exchange(overflow_, std::nullopt);
  return Error::unavailable("the connection has ended with " + to_string(*client_.ending()));
}

Result<void> Connection::Parts::enter() {
  while (client_.state() == State::Connecting) client_.poll(timeout_);
  if (client_.state() == State::Open) return {};
  const Ending& ending = *client_.ending();
  return fail(Error(ending.kind, ending.reason.empty() ? to_string(ending) : ending.reason));
}

Result<Message> Connection::Parts::request(const Message& packet) {
  std::optional<Result<Message>> reply;
  auto asked = client_.request(packet, [&reply](Result<Message> got) { reply = std::move(got); });
  if (!asked) return fail(asked.error());
  // It ends by itself when its time is over or the connection ends.
  while (!reply.has_value()) client_.poll(timeout_);
  if (!*reply && overflow_.has_value()) return fail(ended());
  return *std::move(reply);
}

Result<void> Connection::Parts::send(const Message& packet) {
  if (auto said = client_.send(packet); !said) return said;
  const auto sent = wait_until([this] { return client_.unsent_bytes() == 0; }, timeout_);
  if (!sent) return fail(sent.error());
  // What was thrown away because the connection has ended does not wait any more either.
  if (client_.state() == State::Ended) return fail(ended());
  if (*sent) return {};
  client_.cut("the server does not read");
  return fail(Error::deadline_exceeded("the server does not read"));
}

Result<Message> Connection::Parts::next_push(Duration timeout) {
  const auto came = wait_until([this] { return !pushes_.empty(); }, timeout);
  if (!came) return fail(came.error());
  if (!*came) return fail(Error::deadline_exceeded("nothing came from the server in time"));
  Message oldest = std::move(pushes_.front());
  pushes_.pop_front();
  pushes_bytes_ -= cost_of(oldest);
  return oldest;
}

void Connection::Parts::keep(const Message& push) {
  const std::size_t bytes = pushes_bytes_ + cost_of(push);
  if (bytes <= most_pushes_bytes_) {
    pushes_bytes_ = bytes;
    pushes_.push_back(push);
    return;
  }
  overflow_ = Error::capacity_exceeded(fmt::format(
      "this end closed the connection: with '{}', {} pushes of {} bytes wait for next_push(); {} "
      "bytes may",
      push.packet_name(), pushes_.size() + 1, bytes, most_pushes_bytes_));
  client_.cut(overflow_->message());
}

Result<Connection> Connection::open(const ConnectionOptions& options) {
  auto client = Client::open({.url = options.url,
                              .form = options.form,
                              .packets = options.packets,
                              .connect_timeout = options.timeout,
                              .request_timeout = options.timeout});
  if (!client) return fail(client.error());
  auto parts = std::make_unique<Parts>(*std::move(client), options);
  if (auto entered = parts->enter(); !entered) return fail(entered.error());
  return Connection(std::move(parts));
}

Connection::Connection(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Connection::Connection(Connection&&) noexcept = default;
Connection& Connection::operator=(Connection&&) noexcept = default;
Connection::~Connection() = default;

Result<Message> Connection::request(const Message& packet) { return parts_->request(packet); }
Result<void> Connection::send(const Message& packet) { return parts_->send(packet); }
Result<Message> Connection::next_push(Duration timeout) { return parts_->next_push(timeout); }
void Connection::cut() { parts_->cut(); }

}  // namespace spotmesh::client
