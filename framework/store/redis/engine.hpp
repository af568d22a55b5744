// The thread of a RedisStore and the operations before it and in Redis' hands.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "store/redis/hints.hpp"
#include "store/redis/link.hpp"
#include "store/redis/redis_store.hpp"

namespace spotmesh::store {

class RedisStore::Engine {
 public:
  explicit Engine(RedisOptions options);
  // Drains and joins.
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // Until the store can be used, or cannot be within operation_timeout.
  Result<void> wait_until_ready();

  void read(std::vector<std::string> keys, location::ReadCallback done);
  void commit(location::Commit commit, location::CommitCallback done);
  void scan(std::string prefix, const std::string& cursor, std::size_t limit,
            location::ScanCallback done);
  void watch(std::string prefix, location::HintCallback hint);
  const RedisOptions& options() const { return options_; }

 private:
  using SteadyTime = redis::SteadyTime;
  struct Failure {
    bool is_unknown;
    std::string message;
  };
  // Called once: with the script's answer, or with why there is none. False: that was no answer of
  // this script.
  using Answer = std::function<bool(const redisReply* reply, const Failure* failure)>;
  struct Operation {
    redis::Script script = redis::Script::Read;
    std::vector<std::string> arguments;
    Answer answer;
    std::size_t bytes = 0;
    SteadyTime deadline{};
    bool must_send_text = false;  // the server does not know the script by its hash any more
  };
  struct NewWatch {
    std::string prefix;
    location::HintCallback hint;
  };
  static bool is_commit(const Operation& operation) {
    return operation.script == redis::Script::Commit;
  }

  // Any thread.
  void submit(redis::Script script, std::vector<std::string> arguments, Answer answer);
  // Answers without Redis, on the store's thread. Waits while queue_limit answers of this kind
  // wait: each has a caller who must get his own.
  void refuse(std::function<void()> answer);
  void wake() const;

  // The store's thread.
  void run();
  bool is_over();
  void take_what_is_new();
  void tell_whether_ready();
  void process(SteadyTime now);
  void take_replies();
  void take_reply(Operation operation, const redisReply& reply);
  void take_error(Operation operation, const redisReply& reply);
  void lose_connection(const std::string& reason, SteadyTime now);
  void expire(SteadyTime now);
  void send_waiting(SteadyTime now);
  void send(Operation operation);
  void finish(Operation& operation, const redisReply* reply, const Failure* failure);
  bool is_overdue(SteadyTime now) const;
  SteadyTime next_wake() const;
  void wait(SteadyTime until);

  const RedisOptions options_;
  const redis::StoreKeys keys_;

  // Of the store's thread.
  redis::Link link_{options_, keys_};
  redis::Hints hints_{options_, keys_};
  std::deque<Operation> waiting_;
  std::deque<Operation> in_flight_;
  std::vector<Operation> returned_;  // refused without effect, to be sent again
  std::size_t bytes_in_flight_ = 0;
  bool must_prepare_ = false;  // the store has lost records
  bool must_leave_ = false;    // this server is no primary any more

  std::mutex mutex_;
  std::condition_variable state_changed_;
  std::condition_variable refusals_taken_;
  std::vector<Operation> queue_;
  std::vector<NewWatch> new_watches_;
  std::vector<std::function<void()>> refusals_;
  std::size_t outstanding_ = 0;  // operations without an answer, and their bytes
  std::size_t outstanding_bytes_ = 0;
  bool is_stopping_ = false;
  bool has_been_ready_ = false;
  redis::Refusal refusal_{Error::unavailable("no Redis server has answered yet"), false};

  int wake_descriptor_ = -1;
  std::thread thread_;
};

}  // namespace spotmesh::store
