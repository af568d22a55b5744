// The connection to the primary: found, greeted, lost and found again.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/random.hpp"
#include "store/redis/connection.hpp"
#include "store/redis/discovery.hpp"
#include "store/redis/handshake.hpp"
#include "store/redis/scripts.hpp"

namespace spotmesh::store::redis {

// Seeded by the system.
class SystemRandom : public Random {
 public:
  std::uint64_t next_u64() override;
};

class Link {
 public:
  Link(const RedisOptions& options, const StoreKeys& keys);

  // What time and replies demand; replies to operations are left to their owner.
  void process(SteadyTime now);
  SteadyTime next_wake() const;
  bool is_ready() const { return state_ == State::Ready; }

  // To wait for; null: none.
  Connection* primary() { return connection_.get(); }
  Connection* sentinel() { return discovery_.connection(); }
  // The server behind a link that is ready.
  const RedisAddress& address() const { return connection_->address(); }
  const std::string& hash_of(Script script) const {
    return handshake_->hashes()[static_cast<std::size_t>(script)];
  }
  // Sentinel names another server than the one that this link, which is ready, leads to.
  bool is_outdated() const;

  // Why the link is not ready: names the server, and says what stands in the way.
  const Refusal& refusal() const { return refusal_; }
  // Ends the connection of a link that is ready. With commits under way their connection is ended
  // at the server before there is another one.
  void drop(std::string reason, bool has_commits, SteadyTime now);
  // The store of a link that is ready was prepared once more: what came of it.
  void tell_prepared(std::string_view outcome);
  // A store's identity, in case that it has none.
  std::string new_identity();

 private:
  enum class State { Waiting, Greeting, Ready };

  void begin(SteadyTime now);
  void greet(SteadyTime now);
  void become_ready();
  void fail(Refusal refusal, SteadyTime now);
  void pause(SteadyTime now);
  void warn_once(std::string warning);

  const RedisOptions& options_;
  const StoreKeys& keys_;
  SystemRandom random_;
  Discovery discovery_;
  State state_ = State::Waiting;
  std::unique_ptr<Connection> connection_;
  std::optional<Handshake> handshake_;
  std::vector<Abandoned> abandoned_;
  std::vector<std::string> warnings_;
  Refusal refusal_;
  unsigned failures_ = 0;
  bool was_ready_ = false;
  SteadyTime wake_{};  // Waiting: to connect; Greeting: to give up
};

}  // namespace spotmesh::store::redis
