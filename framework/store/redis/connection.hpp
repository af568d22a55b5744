// One connection to a Redis server or a Sentinel: commands out, replies in, in order.
#pragma once

#include <hiredis/hiredis.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "store/redis/redis_options.hpp"

namespace spotmesh::store::redis {

struct FreeReply {
  void operator()(redisReply* reply) const { freeReplyObject(reply); }
};
using Reply = std::unique_ptr<redisReply, FreeReply>;

// The bytes of a string, a status or an error; nothing of other replies.
std::string_view text_of(const redisReply& reply);
inline bool is_error(const redisReply& reply) { return reply.type == REDIS_REPLY_ERROR; }
// The elements of an array; none of other replies.
std::vector<const redisReply*> elements_of(const redisReply& reply);

// Never waits but for the name of the host to be resolved. Not thread-safe; whoever writes must
// have SIGPIPE blocked.
class Connection {
 public:
  // Begins to connect; what is appended meanwhile is sent then.
  explicit Connection(RedisAddress address);

  const RedisAddress& address() const { return address_; }
  int descriptor() const { return context_ ? context_->fd : -1; }
  // What poll() is to wait for.
  short wanted_events() const;
  // Reads and writes what is possible now.
  void advance(short events);

  void append(const std::vector<std::string_view>& words);
  // Null when none is complete. What came before a fault is still to be had.
  Reply next_reply();
  // Why the connection is of no use any more; empty while it is.
  const std::string& fault() const { return fault_; }

 private:
  struct FreeContext {
    void operator()(redisContext* context) const { redisFree(context); }
  };
  void note_fault();

  const RedisAddress address_;
  std::unique_ptr<redisContext, FreeContext> context_;
  bool has_output_ = false;
  std::string fault_;
};

// The words of an AUTH with these credentials.
std::vector<std::string_view> auth_words(const RedisCredentials& credentials);

}  // namespace spotmesh::store::redis
