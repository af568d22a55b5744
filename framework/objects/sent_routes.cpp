#include "objects/sent_routes.hpp"

#include <algorithm>

namespace spotmesh::objects {

std::uint64_t SentRoutes::note(TargetKind kind, std::string_view id, const mesh::Peer& peer) {
  Key key(kind, id);
  Line& line = lines_[peer];
  const std::uint64_t position = ++line.sent;
  auto [known, is_new] = by_id_.try_emplace(key);
  if (!is_new) lines_[known->second.peer].keys.erase(known->second.position);
  known->second = {peer, position};
  line.keys.emplace(position, std::move(key));
  return position;
}

std::uint64_t SentRoutes::position(const mesh::Peer& peer) const {
  const auto line = lines_.find(peer);
  return line == lines_.end() ? 0 : line->second.sent;
}

void SentRoutes::confirm(const mesh::Peer& peer, std::uint64_t position) {
  const auto line = lines_.find(peer);
  if (line == lines_.end()) return;
  auto& [sent, confirmed, keys] = line->second;
  confirmed = std::max(confirmed, position);
  for (auto at = keys.begin(); at != keys.end() && at->first <= confirmed; at = keys.erase(at)) {
    by_id_.erase(at->second);
  }
}

void SentRoutes::end(const mesh::Peer& peer) {
  const auto line = lines_.find(peer);
  if (line == lines_.end()) return;
  for (const auto& [position, key] : line->second.keys) by_id_.erase(key);
  lines_.erase(line);
}

std::optional<mesh::Peer> SentRoutes::find(TargetKind kind, std::string_view id) const {
  const auto found = by_id_.find(Key(kind, id));
  if (found == by_id_.end()) return {};
  return found->second.peer;
}

std::uint64_t SentRoutes::unconfirmed(const mesh::Peer& peer) const {
  const auto line = lines_.find(peer);
  return line == lines_.end() ? 0 : line->second.sent - line->second.confirmed;
}

}  // namespace spotmesh::objects
