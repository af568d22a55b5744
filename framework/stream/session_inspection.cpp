// What is seen of sessions from outside.
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>

#include "objects/page_walk.hpp"
#include "stream/client_session.hpp"
#include "stream/session_row.hpp"
#include "stream/stream_server.hpp"

namespace spotmesh::stream {
namespace {

std::optional<std::uint64_t> parse_hex(std::string_view text) {
  const auto is_digit = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  std::uint64_t value = 0;
  if (!std::ranges::all_of(text, is_digit)) return {};
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  return parsed.ec == std::errc() ? std::optional(value) : std::nullopt;
}

class SessionSource {
 public:
  using Cell = ClientSession;
  using Row = SessionRow;
  using Id = SessionId;
  static constexpr std::size_t shard_count = SessionDirectory::shard_count;

  explicit SessionSource(std::shared_ptr<Gateway> gateway) : gateway_(std::move(gateway)) {}

  void look_at(std::size_t shard, const std::function<void(Cell&)>& visit) const {
    gateway_->sessions.look_at(shard, visit);
  }
  static Id id_of(const Cell& cell) { return cell.id(); }
  static Id id_from(const std::string& text) { return parse_session_id(text).value_or(Id{}); }
  static std::string text_of(const Id& id) { return to_string(id); }
  bool is_wanted(const objects::PageWanted& wanted, Cell& cell) const {
    if (!wanted.type.empty() && wanted.type != gateway_->type.name) return false;
    if (wanted.mesh.empty()) return true;
    const auto actors = cell.bound_actors();
    return std::ranges::find(actors, wanted.mesh, &ActorRef::mesh_name) != actors.end();
  }
  Row row_of(Cell& cell) const { return cell.look(); }
  runtime::Ref<Cell> find(const std::string& id) const {
    const auto parsed = parse_session_id(id);
    return parsed ? gateway_->sessions.find(*parsed) : runtime::Ref<Cell>();
  }

 private:
  std::shared_ptr<Gateway> gateway_;
};

}  // namespace

std::optional<SessionId> parse_session_id(std::string_view text) {
  constexpr std::size_t half = 16;
  if (text.size() != 2 * half) return {};
  const auto high = parse_hex(text.substr(0, half));
  const auto low = parse_hex(text.substr(half));
  if (!high || !low) return {};
  return SessionId{*high, *low};
}

SessionRow ClientSession::look() const {
  SessionRow row{.id = id_,
                 .gateway = gateway_->type.name,
                 .state = state(),
                 .remote_address = remote_address_,
                 .actors = bound_.actors(),
                 .queued_packets = packets_.waiting(),
                 .unanswered_requests = 0,
                 .unsent_bytes = outbound_.unsent_bytes()};
  const std::lock_guard lock(mutex_);
  row.unanswered_requests = requests_.size();
  return row;
}

void StreamServer::inspect(objects::PageWanted wanted,
                           std::function<void(objects::Page<SessionRow>)> done) const {
  objects::read_page(SessionSource(gateway_), gateway_->seams.strand, std::move(wanted),
                     std::move(done));
}

}  // namespace spotmesh::stream
