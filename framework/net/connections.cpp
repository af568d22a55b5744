#include "net/connections.hpp"

#include <utility>

namespace spotmesh::net {

bool Connections::add_opening(std::shared_ptr<Connection> connection) {
  std::shared_ptr<Connection> pushed_out;
  bool is_first = false;
  {
    std::lock_guard lock(mutex_);
    if (is_ending_) return false;
    Connection* key = connection.get();
    const std::uint64_t number = ++openings_begun_;
    openings_.emplace(number, key);
    all_.emplace(key, Entry{std::move(connection), number});
    if (openings_.size() > openings_at_once_) {
      // It no longer counts, though it takes a moment until it is gone.
      Entry& oldest = all_.at(openings_.begin()->second);
      pushed_out = oldest.connection;
      oldest.opening = 0;
      openings_.erase(openings_.begin());
      is_first = !std::exchange(is_crowded_, true);
    }
  }
  if (is_first) on_crowd_();
  if (pushed_out) pushed_out->abort_connection();
  return true;
}

bool Connections::add_link(std::shared_ptr<Connection> connection) {
  std::lock_guard lock(mutex_);
  if (is_ending_) return false;
  Connection* key = connection.get();
  all_.emplace(key, Entry{std::move(connection), 0});
  return true;
}

void Connections::remove(Connection& connection) {
  Entry removed;  // released without the lock, which its destructor may need
  std::lock_guard lock(mutex_);
  const auto found = all_.find(&connection);
  if (found == all_.end()) return;
  removed = std::move(found->second);
  all_.erase(found);
  if (removed.opening != 0) openings_.erase(removed.opening);
  if (openings_.size() <= openings_at_once_ / 2) is_crowded_ = false;
  if (all_.empty()) emptied_.notify_all();
}

std::vector<std::shared_ptr<Connection>> Connections::present(bool is_ending) {
  std::vector<std::shared_ptr<Connection>> open;
  std::lock_guard lock(mutex_);
  is_ending_ |= is_ending;
  for (auto& [key, entry] : all_) open.push_back(entry.connection);
  return open;
}

void Connections::abort_present() {
  for (const auto& connection : present(false)) connection->abort_connection();
}

void Connections::abort_all() {
  for (const auto& connection : present(true)) connection->abort_connection();
  std::unique_lock lock(mutex_);
  emptied_.wait(lock, [this] { return all_.empty(); });
}

std::size_t Connections::count() const {
  std::lock_guard lock(mutex_);
  return all_.size();
}

}  // namespace spotmesh::net
