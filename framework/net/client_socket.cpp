#include "net/client_socket.hpp"

#include <fcntl.h>

#include <array>
#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "net/websocket_key.hpp"

namespace spotmesh::net {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

namespace {

constexpr std::size_t longest_response_head = 16 * 1024;
constexpr std::size_t receive_bytes = 16 * 1024;
constexpr std::string_view end_of_head = "\r\n\r\n";

struct Completed {
  error_code error;
  std::size_t bytes = 0;
};

char in_lower_case(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool starts_with_ignoring_case(std::string_view text, std::string_view prefix) {
  if (text.size() < prefix.size()) return false;
  for (std::size_t i = 0; i < prefix.size(); ++i) {
    if (in_lower_case(text[i]) != in_lower_case(prefix[i])) return false;
  }
  return true;
}

// The value of a response's header, empty when it has none.
std::string_view header_of(std::string_view head, std::string_view name) {
  while (!head.empty()) {
    const std::size_t end = head.find("\r\n");
    std::string_view line = head.substr(0, end);
    head.remove_prefix(end == std::string_view::npos ? head.size() : end + 2);
    if (!starts_with_ignoring_case(line, name) || line.substr(name.size(), 1) != ":") continue;
    line.remove_prefix(name.size() + 1);
    const std::size_t first = line.find_first_not_of(' ');
    return first == std::string_view::npos ? std::string_view() : line.substr(first);
  }
  return {};
}

}  // namespace

struct ClientSocket::Connection {
  asio::io_context io{1};
  tcp::socket socket{io};
  Bytes unread;  // came with the response to the upgrade

  // Starts an operation with the handler that it is given, and waits for that. Nothing when the
  // time is over; the operation has then been cancelled and its handler has run.
  template <typename Start>
  std::optional<Completed> within(Duration timeout, Start start) {
    std::optional<Completed> completed;
    start([&completed](error_code error, std::size_t bytes) {
      completed = Completed{.error = error, .bytes = bytes};
    });
    io.restart();
    io.run_for(timeout);
    if (completed) return completed;
    error_code ignored;
    socket.cancel(ignored);
    io.restart();
    io.run();
    // It may have ended in the very moment of the cancellation.
    if (completed && completed->error == asio::error::operation_aborted) return std::nullopt;
    return completed;
  }

  Result<void> connect(const ClientEndpoint& endpoint, Duration timeout);
  Result<void> upgrade(const ClientEndpoint& endpoint, std::string_view key, Duration timeout);
  Result<std::string> read_head(Duration timeout);
  Result<void> send(ByteView bytes, Duration timeout);
  Result<Bytes> receive(Duration timeout);
  void close() {
    error_code ignored;
    socket.close(ignored);
  }
};

Result<void> ClientSocket::Connection::connect(const ClientEndpoint& endpoint, Duration timeout) {
  const std::string where = fmt::format("{}:{}", endpoint.host, endpoint.port);
  error_code error;
  tcp::resolver resolver(io);
  const auto addresses = resolver.resolve(endpoint.host, std::to_string(endpoint.port), error);
  if (error) {
    return fail(Error::unavailable(fmt::format("{} has no address: {}", where, error.message())));
  }
  const auto connected = within(timeout, [&](auto handler) {
    asio::async_connect(socket, addresses, [handler](error_code outcome, const tcp::endpoint&) {
      handler(outcome, 0);
    });
  });
  if (!connected) return fail(Error::deadline_exceeded(fmt::format("{} did not answer", where)));
  if (connected->error) {
    return fail(Error::unavailable(
        fmt::format("cannot connect to {}: {}", where, connected->error.message())));
  }
  socket.set_option(tcp::no_delay(true), error);
  // A program that the caller starts must not keep the connection open.
  fcntl(socket.native_handle(), F_SETFD, FD_CLOEXEC);
  return {};
}

Result<std::string> ClientSocket::Connection::read_head(Duration timeout) {
  std::string head;
  while (head.find(end_of_head) == std::string::npos) {
    if (head.size() > longest_response_head) {
      return fail(Error::protocol_error("the server's answer to the upgrade does not end"));
    }
    auto bytes = receive(timeout);
    if (!bytes) return fail(bytes.error());
    head.append(as_text(*bytes));
  }
  return head;
}

Result<void> ClientSocket::Connection::upgrade(const ClientEndpoint& endpoint, std::string_view key,
                                               Duration timeout) {
  const std::string request = fmt::format(
      "GET {} HTTP/1.1\r\nHost: {}:{}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
      "Sec-WebSocket-Key: {}\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: {}\r\n\r\n",
      endpoint.path, endpoint.host, endpoint.port, key, endpoint.subprotocol);
  if (auto sent = send(as_bytes(request), timeout); !sent) return sent;
  auto response = read_head(timeout);
  if (!response) return fail(response.error());
  const std::size_t end = response->find(end_of_head);
  const std::string_view head = std::string_view(*response).substr(0, end);
  const std::string_view rest = std::string_view(*response).substr(end + end_of_head.size());
  if (!head.starts_with("HTTP/1.1 101 ")) {
    const std::string_view status = head.substr(0, head.find("\r\n"));
    return fail(Error::unavailable(fmt::format("the server answered '{}': {}", status, rest)));
  }
  if (header_of(head, "Sec-WebSocket-Accept") != websocket_accept(key) ||
      header_of(head, "Sec-WebSocket-Protocol") != endpoint.subprotocol) {
    return fail(
        Error::protocol_error("the server's answer to the upgrade is none: " + std::string(head)));
  }
  unread = to_bytes(rest);
  return {};
}

Result<void> ClientSocket::Connection::send(ByteView bytes, Duration timeout) {
  const auto sent = within(timeout, [&](auto handler) {
    asio::async_write(socket, asio::buffer(bytes.data(), bytes.size()), handler);
  });
  if (sent && !sent->error) return {};
  close();
  if (!sent) return fail(Error::deadline_exceeded("the server does not read"));
  return fail(Error::unavailable("the connection has ended: " + sent->error.message()));
}

Result<Bytes> ClientSocket::Connection::receive(Duration timeout) {
  if (!unread.empty()) return std::exchange(unread, {});
  std::array<std::byte, receive_bytes> buffer;
  const auto received =
      within(timeout, [&](auto handler) { socket.async_read_some(asio::buffer(buffer), handler); });
  if (!received) return fail(Error::deadline_exceeded("nothing came from the server in time"));
  if (received->error) {
    close();
    return fail(Error::unavailable("the connection has ended: " + received->error.message()));
  }
  return Bytes(buffer.begin(), buffer.begin() + static_cast<std::ptrdiff_t>(received->bytes));
}

Result<ClientSocket> ClientSocket::open(const ClientEndpoint& endpoint, Random& random,
                                        Duration timeout) {
  auto connection = std::make_unique<Connection>();
  if (auto connected = connection->connect(endpoint, timeout); !connected) {
    return fail(connected.error());
  }
  const std::string key = make_websocket_key(random);
  if (auto upgraded = connection->upgrade(endpoint, key, timeout); !upgraded) {
    return fail(upgraded.error());
  }
  return ClientSocket(std::move(connection));
}

ClientSocket::ClientSocket(std::unique_ptr<Connection> connection)
    : connection_(std::move(connection)) {}
ClientSocket::ClientSocket(ClientSocket&&) noexcept = default;
ClientSocket& ClientSocket::operator=(ClientSocket&&) noexcept = default;
ClientSocket::~ClientSocket() = default;

Result<void> ClientSocket::send(ByteView bytes, Duration timeout) {
  return connection_->send(bytes, timeout);
}

Result<Bytes> ClientSocket::receive(Duration timeout) { return connection_->receive(timeout); }

void ClientSocket::close() { connection_->close(); }

}  // namespace spotmesh::net
