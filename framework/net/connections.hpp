// Everything that holds a client's socket, so that it can be counted, bounded and ended.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

namespace spotmesh::net {

// An opening or a link. Kept alive by the registry until it removes itself.
class Connection {
 public:
  virtual ~Connection() = default;
  // Ends it soon, from any thread, never inside the call.
  virtual void abort_connection() = 0;
};

// Safe from any thread.
class Connections {
 public:
  // Openings beyond `openings_at_once` push out the oldest: who opens connections and says nothing
  // ends his own, not those of players who come after him.
  // `on_crowd` is told of the first that is pushed out, and again only when no more than half as
  // many were opening in between. Any thread, under no lock.
  Connections(std::size_t openings_at_once, std::function<void()> on_crowd)
      : openings_at_once_(openings_at_once), on_crowd_(std::move(on_crowd)) {}

  // False when everything is being ended; the connection is then not kept.
  bool add_opening(std::shared_ptr<Connection> connection);
  bool add_link(std::shared_ptr<Connection> connection);
  void remove(Connection& connection);

  // Ends what there is now, soon.
  void abort_present();
  // From now on nothing is added; waits until everything has removed itself.
  void abort_all();
  std::size_t count() const;

 private:
  std::vector<std::shared_ptr<Connection>> present(bool is_ending);

  struct Entry {
    std::shared_ptr<Connection> connection;
    std::uint64_t opening = 0;  // its number; 0 for a link
  };

  const std::size_t openings_at_once_;
  const std::function<void()> on_crowd_;
  mutable std::mutex mutex_;
  std::condition_variable emptied_;
  std::unordered_map<Connection*, Entry> all_;
  std::map<std::uint64_t, Connection*> openings_;  // oldest first
  std::uint64_t openings_begun_ = 0;
  bool is_crowded_ = false;  // an opening was pushed out, and on_crowd_ told
  bool is_ending_ = false;
};

}  // namespace spotmesh::net
