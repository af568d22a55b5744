#include "cli/admin_client.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <optional>
#include <utility>

#include "net/http_message.hpp"

namespace spotmesh::cli {
namespace {

constexpr std::size_t longest_head = 64 * 1024;
constexpr std::size_t longest_body = 64 * 1024 * 1024;
constexpr std::string_view head_end = "\r\n\r\n";

Error no_endpoint(std::string_view why) {
  return Error::protocol_error(
      fmt::format("what answers there is no admin endpoint of Spotmesh: {}", why));
}

template <typename Integer>
std::optional<Integer> parse_number(std::string_view text) {
  Integer value = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (fault != std::errc() || end != text.data() + text.size()) return {};
  return value;
}

// Some more bytes at the end of `text`; nothing but an error when the stream or the time is over.
Result<void> read_more(net::PolledSocket& socket, std::string& text, const AdminClient& client,
                       Instant deadline) {
  std::array<std::byte, 16 * 1024> buffer{};
  while (true) {
    const auto got = socket.read(buffer);
    if (!got) return fail(got.error());
    text += as_text(ByteView(buffer.data(), *got));
    if (*got > 0) return {};
    if (client.now() >= deadline) return fail(client.late());
    socket.wait(false, deadline - client.now());
  }
}

Result<void> write_all(net::PolledSocket& socket, std::string_view text, const AdminClient& client,
                       Instant deadline) {
  ByteView left = as_bytes(text);
  while (true) {
    const auto is_connected = socket.is_connected();
    if (!is_connected) return fail(is_connected.error());
    if (*is_connected) {
      const auto taken = socket.write(left);
      if (!taken) return fail(taken.error());
      left = left.subspan(*taken);
      if (left.empty()) return {};
    }
    if (client.now() >= deadline) return fail(client.late());
    socket.wait(true, deadline - client.now());
  }
}

}  // namespace

std::string_view header_of(std::string_view head, std::string_view name) {
  std::size_t line = head.find("\r\n");
  while (line != head.npos && line + 2 < head.size()) {
    const std::string_view rest = head.substr(line + 2);
    const std::string_view text = rest.substr(0, rest.find("\r\n"));
    const std::size_t colon = text.find(':');
    if (colon != text.npos && net::equal_ignoring_case(text.substr(0, colon), name)) {
      std::string_view value = text.substr(colon + 1);
      while (value.starts_with(' ')) value.remove_prefix(1);
      while (value.ends_with(' ')) value.remove_suffix(1);
      return value;
    }
    line = head.find("\r\n", line + 2);
  }
  return {};
}

Error AdminClient::late() const {
  return Error::deadline_exceeded(
      fmt::format("http://{} has not answered in {} ms", url_.authority,
                  std::chrono::duration_cast<std::chrono::milliseconds>(timeout_).count()));
}

Error AdminClient::error_of(unsigned status, std::string_view body) {
  const auto parsed = nlohmann::json::parse(body, nullptr, false);
  if (!parsed.is_object() || !parsed.contains("error") || !parsed.at("error").is_string()) {
    return no_endpoint(fmt::format("it said {}", status));
  }
  std::string text = parsed.at("error").get<std::string>();
  switch (status) {
    case 400:
      return Error::invalid_operation(std::move(text));
    case 401:
    case 403:
      return Error::rejected(std::move(text));
    case 404:
      return Error::not_found(std::move(text));
    default:
      return Error::unavailable(std::move(text));
  }
}

Result<Opened> AdminClient::open(std::string_view method, std::string_view target,
                                 std::string_view headers, Instant deadline) const {
  auto socket = net::PolledSocket::connect(url_.host, url_.port);
  if (!socket) return fail(socket.error());
  Opened opened{*std::move(socket), 0, {}, {}};
  std::string request =
      fmt::format("{} {} HTTP/1.1\r\nHost: {}\r\n{}", method, target, url_.authority, headers);
  if (!token_.empty()) request += fmt::format("Authorization: Bearer {}\r\n", token_);
  request += "\r\n";
  if (auto sent = write_all(opened.socket, request, *this, deadline); !sent) {
    return fail(sent.error());
  }
  std::string& text = opened.head;
  while (text.find(head_end) == text.npos) {
    if (text.size() > longest_head) return fail(no_endpoint("its answer has no end of its head"));
    if (auto got = read_more(opened.socket, text, *this, deadline); !got) return fail(got.error());
  }
  const std::size_t end = text.find(head_end) + head_end.size();
  opened.rest = text.substr(end);
  text.resize(end);
  const bool is_http = text.starts_with("HTTP/1.") && text.size() > 12;
  const auto status = is_http ? parse_number<unsigned>(std::string_view(text).substr(9, 3))
                              : std::optional<unsigned>();
  if (!status) return fail(no_endpoint("it does not speak HTTP"));
  opened.status = *status;
  return opened;
}

Result<nlohmann::json> AdminClient::ask(std::string_view method, std::string_view target) const {
  const Instant until = deadline();
  auto opened = open(method, target, "Connection: close\r\n", until);
  if (!opened) return fail(opened.error());
  const auto length = parse_number<std::size_t>(header_of(opened->head, "Content-Length"));
  if (!length || *length > longest_body) {
    return fail(no_endpoint("its answer has no length, or too much of it"));
  }
  while (opened->rest.size() < *length) {
    if (auto got = read_more(opened->socket, opened->rest, *this, until); !got) {
      return fail(got.error());
    }
  }
  const std::string_view body = std::string_view(opened->rest).substr(0, *length);
  if (opened->status != 200 && opened->status != 202) return fail(error_of(opened->status, body));
  auto parsed = nlohmann::json::parse(body, nullptr, false);
  if (!parsed.is_object()) return fail(no_endpoint("its answer is no document of JSON"));
  return parsed;
}

}  // namespace spotmesh::cli
