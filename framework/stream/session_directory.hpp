// SessionDirectory: the living sessions of a gateway, by id.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <functional>
#include <mutex>
#include <unordered_map>
#include <vector>

#include <spotmesh/ids.hpp>

#include "runtime/ref_counted.hpp"

namespace spotmesh::stream {

class ClientSession;

// Keeps each session alive until it is gone. Any thread.
class SessionDirectory {
 public:
  using SessionRef = runtime::Ref<ClientSession>;

  SessionDirectory();
  ~SessionDirectory();

  void add(const SessionId& id, SessionRef session);
  // Null when there is no such session.
  SessionRef find(const SessionId& id) const;
  void remove(const SessionId& id);
  std::vector<SessionRef> all() const;
  // Visits a part of all sessions, under a lock: `visit` only looks. Shards count from 0.
  static constexpr std::size_t shard_count = 16;
  void look_at(std::size_t shard, const std::function<void(ClientSession&)>& visit) const;
  std::size_t size() const { return size_.load(); }

  // A link that may yet become a session. Each add_coming() is followed by one remove_coming(),
  // which comes after the add() of what became of it.
  void add_coming() { living_.fetch_add(1); }
  void remove_coming();

  // `empty` is called once, by whoever removes the last session or the last link that might have
  // become one; at once when there is neither.
  void when_empty(std::function<void()> empty);

 private:
  struct Shard {
    mutable std::mutex mutex;
    std::unordered_map<SessionId, SessionRef> sessions;
  };

  Shard& shard_of(const SessionId& id) const { return shards_[id.low % shards_.size()]; }
  void tell_if_empty();

  mutable std::array<Shard, shard_count> shards_;
  std::atomic<std::size_t> size_{0};
  std::atomic<std::size_t> living_{0};  // sessions, and what may become one
  std::mutex empty_mutex_;
  std::vector<std::function<void()>> when_empty_;
};

}  // namespace spotmesh::stream
