#include "stream/session_directory.hpp"

#include <utility>

#include "stream/client_session.hpp"

namespace spotmesh::stream {

SessionDirectory::SessionDirectory() = default;
SessionDirectory::~SessionDirectory() = default;

void SessionDirectory::add(const SessionId& id, SessionRef session) {
  Shard& shard = shard_of(id);
  std::lock_guard lock(shard.mutex);
  shard.sessions.emplace(id, std::move(session));
  size_.fetch_add(1);
  living_.fetch_add(1);
}

SessionDirectory::SessionRef SessionDirectory::find(const SessionId& id) const {
  const Shard& shard = shard_of(id);
  std::lock_guard lock(shard.mutex);
  const auto found = shard.sessions.find(id);
  return found == shard.sessions.end() ? SessionRef() : found->second;
}

void SessionDirectory::remove(const SessionId& id) {
  SessionRef removed;
  {
    Shard& shard = shard_of(id);
    std::lock_guard lock(shard.mutex);
    const auto found = shard.sessions.find(id);
    if (found == shard.sessions.end()) return;
    removed = std::move(found->second);
    shard.sessions.erase(found);
  }
  size_.fetch_sub(1);
  remove_coming();
}

void SessionDirectory::remove_coming() {
  if (living_.fetch_sub(1) == 1) tell_if_empty();
}

std::vector<SessionDirectory::SessionRef> SessionDirectory::all() const {
  std::vector<SessionRef> sessions;
  for (const Shard& shard : shards_) {
    std::lock_guard lock(shard.mutex);
    for (const auto& [id, session] : shard.sessions) sessions.push_back(session);
  }
  return sessions;
}

void SessionDirectory::look_at(std::size_t shard,
                               const std::function<void(ClientSession&)>& visit) const {
  std::lock_guard lock(shards_[shard].mutex);
  for (const auto& [id, session] : shards_[shard].sessions) visit(*session);
}

void SessionDirectory::when_empty(std::function<void()> empty) {
  {
    std::lock_guard lock(empty_mutex_);
    when_empty_.push_back(std::move(empty));
  }
  if (living_.load() == 0) tell_if_empty();
}

void SessionDirectory::tell_if_empty() {
  std::vector<std::function<void()>> told;
  {
    std::lock_guard lock(empty_mutex_);
    told.swap(when_empty_);
  }
  for (const auto& empty : told) empty();
}

}  // namespace spotmesh::stream
