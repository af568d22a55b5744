#include "net/client_opening.hpp"

#include <algorithm>
#include <cstddef>

#include <fmt/format.h>

#include "net/websocket_key.hpp"

namespace spotmesh::net {

namespace {

constexpr std::size_t longest_head_bytes = 16 * 1024;
constexpr std::size_t longest_shown_bytes = 1024;
constexpr std::string_view end_of_head = "\r\n\r\n";

char in_lower_case(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, {}, in_lower_case, in_lower_case);
}

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

// The value of a header, empty when there is none.
std::string_view header_of(std::string_view head, std::string_view name) {
  while (!head.empty()) {
    const std::size_t end = std::min(head.find("\r\n"), head.size());
    const std::string_view line = head.substr(0, end);
    head.remove_prefix(std::min(end + 2, head.size()));
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    if (equal_ignoring_case(line.substr(0, colon), name)) return trimmed(line.substr(colon + 1));
  }
  return {};
}

}  // namespace

ClientOpening::ClientOpening(std::string_view authority, std::string_view path,
                             std::string_view subprotocol, Random& random)
    : key_(make_websocket_key(random)),
      subprotocol_(subprotocol),
      request_(fmt::format("GET {} HTTP/1.1\r\nHost: {}\r\nUpgrade: websocket\r\n"
                           "Connection: Upgrade\r\nSec-WebSocket-Key: {}\r\n"
                           "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: {}\r\n\r\n",
                           path, authority, key_, subprotocol)) {}

Result<bool> ClientOpening::take(ByteView& input) {
  const std::size_t before = answer_.size();
  const std::size_t room = longest_head_bytes - before;
  answer_.append(as_text(input.first(std::min(input.size(), room))));
  // The end may lie across what came before and now.
  const std::size_t from = before < end_of_head.size() ? 0 : before - end_of_head.size();
  const std::size_t end = answer_.find(end_of_head, from);
  if (end == std::string::npos) {
    if (answer_.size() == longest_head_bytes) {
      return fail(Error::protocol_error(fmt::format(
          "the server's answer to the upgrade does not end within {} bytes", longest_head_bytes)));
    }
    input = {};
    return false;
  }
  const auto judged = judge(std::string_view(answer_).substr(0, end),
                            std::string_view(answer_).substr(end + end_of_head.size()));
  if (judged) input = input.subspan(end + end_of_head.size() - before);
  return judged;
}

Result<bool> ClientOpening::judge(std::string_view head, std::string_view rest) const {
  const std::string_view status = head.substr(0, std::min(head.find("\r\n"), longest_shown_bytes));
  if (!head.starts_with("HTTP/1.1 ")) {
    return fail(Error::protocol_error(
        fmt::format("the server's answer to the upgrade is no HTTP: '{}'", status)));
  }
  if (!head.starts_with("HTTP/1.1 101 ")) {
    return fail(Error::unavailable(fmt::format("the server answered '{}': {}", status,
                                               trimmed(rest.substr(0, longest_shown_bytes)))));
  }
  if (header_of(head, "Sec-WebSocket-Accept") != websocket_accept(key_)) {
    return fail(Error::protocol_error("the server's answer to the upgrade is not one to this key"));
  }
  if (const auto chosen = header_of(head, "Sec-WebSocket-Protocol"); chosen != subprotocol_) {
    return fail(Error::protocol_error(
        fmt::format("the server has chosen the subprotocol '{}', which '{}' is not",
                    chosen.substr(0, longest_shown_bytes), subprotocol_)));
  }
  if (!header_of(head, "Sec-WebSocket-Extensions").empty()) {
    return fail(Error::protocol_error("the server uses an extension that nobody offered"));
  }
  return true;
}

}  // namespace spotmesh::net
