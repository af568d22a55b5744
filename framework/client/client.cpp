#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include <fmt/format.h>
#include <spotmesh/client/client.hpp>

#include "client/client_url.hpp"
#include "client/conversation.hpp"
#include "client/deadline.hpp"
#include "net/client_opening.hpp"
#include "net/os_random.hpp"
#include "net/polled_socket.hpp"
#include "net/system_clock.hpp"

namespace spotmesh::client {

namespace {

constexpr std::size_t read_buffer_bytes = 16 * 1024;
// What one poll() reads at most: a server that never stops does not keep it.
constexpr int reads_of_one_poll = 16;

wire::StreamForm form_of(const ClientUrl& url, Form form) {
  if (!url.is_web_socket) return wire::StreamForm::Tcp;
  return form == Form::Json ? wire::StreamForm::Json : wire::StreamForm::Binary;
}

Result<void> check(const ClientOptions& options) {
  const auto wrong = [](std::string_view option, std::string_view must) {
    return fail(Error::invalid_operation(fmt::format("{} must be {}", option, must)));
  };
  if (options.message_bytes < wire::min_client_message_bytes ||
      options.message_bytes > std::numeric_limits<std::uint32_t>::max()) {
    return wrong("message_bytes", "from 4,096 to 4,294,967,295");
  }
  for (const Duration time : {options.connect_timeout, options.request_timeout, options.heartbeat,
                              options.close_timeout}) {
    if (time <= Duration(0) || time > std::chrono::hours(24)) {
      return wrong("each time", "more than 0 and at most a day");
    }
  }
  return {};
}

}  // namespace

class ClientParts {
 public:
  ClientParts(const ClientOptions& options, ClientUrl url, net::PolledSocket socket)
      : request_timeout(options.request_timeout),
        url_(std::move(url)),
        socket_(std::move(socket)),
        conversation(options, form_of(url_, options.form), random_, clock.now()) {
    if (!url_.is_web_socket) return;
    opening_.emplace(url_.authority, url_.path, wire::subprotocol_of(form_of(url_, options.form)),
                     random_);
    request_ = to_bytes(opening_->request());
  }

  bool poll(Duration wait);
  void cut(std::string_view reason) {
    conversation.cut(std::string(reason));
    socket_.close();
  }

  const Duration request_timeout;
  net::SystemClock clock;

 private:
  // One round without waiting: what can be written is, what has come is handled.
  void step();
  void lose(const Error& error);
  void write_some();
  // Writes the front of `bytes`; how much of it.
  std::size_t write_some_of(ByteView bytes);
  void read_some();
  void take(ByteView bytes);
  bool is_over() const { return conversation.state() == State::Ended; }
  bool wants_write() const { return !request_.empty() || has_words_to_write(); }
  bool has_words_to_write() const { return is_upgraded() && !conversation.output().empty(); }
  bool is_upgraded() const { return is_connected_ && !opening_.has_value(); }

  net::OsRandom random_;
  const ClientUrl url_;
  net::PolledSocket socket_;
  bool is_connected_ = false;
  std::optional<net::ClientOpening> opening_;  // until the upgrade is done
  Bytes request_;                              // for it, as far as it is not written
  std::array<std::byte, read_buffer_bytes> buffer_;

 public:
  Conversation conversation;
};

bool ClientParts::poll(Duration wait) {
  const Instant deadline = deadline_after(clock.now(), wait);
  const std::uint64_t calls = conversation.calls();
  while (true) {
    step();
    if (is_over()) {
      // The last words, as far as they go; nobody waits for more.
      if (has_words_to_write()) write_some_of(conversation.output());
      socket_.close();
      conversation.deliver_end();
      return false;
    }
    const Instant now = clock.now();
    if (conversation.calls() != calls || now >= deadline) break;
    socket_.wait(wants_write(), std::min(deadline, conversation.next_tick()) - now);
  }
  // What handlers have said leaves with this call.
  if (wants_write()) write_some();
  return true;
}

void ClientParts::step() {
  if (is_over()) return;
  if (!is_connected_) {
    const auto connected = socket_.is_connected();
    if (!connected) return lose(connected.error());
    is_connected_ = *connected;
    if (is_connected_ && !opening_.has_value()) conversation.begin(clock.now());
  }
  if (is_connected_) {
    write_some();
    read_some();
  }
  conversation.tick(clock.now());
}

void ClientParts::lose(const Error& error) {
  conversation.end({error.kind(), 1006, error.message(), error.kind() != ErrorKind::ProtocolError});
}

void ClientParts::write_some() {
  if (is_over()) return;
  if (!request_.empty()) {
    const std::size_t written = write_some_of(request_);
    request_.erase(request_.begin(), request_.begin() + static_cast<std::ptrdiff_t>(written));
  }
  if (has_words_to_write()) conversation.written(write_some_of(conversation.output()));
}

std::size_t ClientParts::write_some_of(ByteView bytes) {
  const auto written = socket_.write(bytes);
  if (written) return *written;
  // What the server said before it went is still to be read.
  return bytes.size();
}

void ClientParts::read_some() {
  for (int reads = 0; reads < reads_of_one_poll && !is_over(); ++reads) {
    const auto got = socket_.read(buffer_);
    if (!got) return lose(got.error());
    if (*got == 0) return;
    take(ByteView(buffer_).first(*got));
  }
}

void ClientParts::take(ByteView bytes) {
  if (opening_.has_value()) {
    const auto upgraded = opening_->take(bytes);
    if (!upgraded) return lose(upgraded.error());
    if (!*upgraded) return;
    opening_.reset();
    conversation.begin(clock.now());
  }
  if (!bytes.empty()) conversation.on_bytes(bytes, clock.now());
}

Result<Client> Client::open(const ClientOptions& options) {
  if (auto checked = check(options); !checked) return fail(checked.error());
  auto url = parse_client_url(options.url);
  if (!url) return fail(url.error());
  auto socket = net::PolledSocket::connect(url->host, url->port);
  if (!socket) return fail(socket.error());
  return Client(std::make_unique<ClientParts>(options, *std::move(url), *std::move(socket)));
}

Client::Client(std::unique_ptr<ClientParts> parts) : parts_(std::move(parts)) {}
Client::Client(Client&&) noexcept = default;
Client& Client::operator=(Client&&) noexcept = default;
Client::~Client() = default;

Result<void> Client::request(const Message& packet, std::function<void(Result<Message>)> done,
                             std::optional<Duration> timeout) {
  return parts_->conversation.request(
      packet, std::move(done), timeout.value_or(parts_->request_timeout), parts_->clock.now());
}
Result<void> Client::send(const Message& packet) { return parts_->conversation.send(packet); }

void Client::on_push(const PacketDescriptor& packet, std::function<void(const Message&)> handler) {
  parts_->conversation.on_push(packet, std::move(handler));
}
void Client::on_other_push(std::function<void(const Message&)> handler) {
  parts_->conversation.on_other_push = std::move(handler);
}
void Client::on_unread_push(std::function<void(const Error&)> handler) {
  parts_->conversation.on_unread_push = std::move(handler);
}
void Client::on_open(std::function<void()> handler) {
  parts_->conversation.on_open = std::move(handler);
}
void Client::on_end(std::function<void(const Ending&)> handler) {
  parts_->conversation.on_end = std::move(handler);
}

bool Client::poll(Duration wait) { return parts_->poll(wait); }

Result<void> Client::close(std::uint16_t code, std::string_view reason) {
  return parts_->conversation.close(code, reason, parts_->clock.now());
}
void Client::cut(std::string_view reason) { parts_->cut(reason); }

State Client::state() const { return parts_->conversation.state(); }
const std::optional<Ending>& Client::ending() const { return parts_->conversation.ending(); }
const std::string& Client::session() const { return parts_->conversation.session(); }
std::size_t Client::unanswered_requests() const {
  return parts_->conversation.unanswered_requests();
}
std::size_t Client::unsent_bytes() const { return parts_->conversation.output().size(); }
std::uint64_t Client::late_replies() const { return parts_->conversation.late_replies(); }

}  // namespace spotmesh::client
