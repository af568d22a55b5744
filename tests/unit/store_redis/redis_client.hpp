// What an operator does to a Redis server, as plain calls.
#pragma once

#include <hiredis/hiredis.h>

#include <catch2/catch.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace spotmesh::testing {

class RedisClient {
 public:
  explicit RedisClient(std::uint16_t port) : context_(redisConnect("127.0.0.1", port)) {
    REQUIRE(context_);
    REQUIRE(context_->err == 0);
  }

  // The answer as text, an array's elements each on a line of their own. An error is one, too.
  std::string call(const std::vector<std::string>& words) {
    std::vector<const char*> starts;
    std::vector<std::size_t> lengths;
    for (const std::string& word : words) {
      starts.push_back(word.data());
      lengths.push_back(word.size());
    }
    void* answer = nullptr;
    // A server that becomes a replica ends its connections.
    for (int attempt = 0; attempt < 2 && answer == nullptr; ++attempt) {
      if (context_->err != 0) REQUIRE(redisReconnect(context_.get()) == REDIS_OK);
      answer = redisCommandArgv(context_.get(), static_cast<int>(words.size()), starts.data(),
                                lengths.data());
    }
    const std::unique_ptr<redisReply, void (*)(void*)> reply(static_cast<redisReply*>(answer),
                                                             freeReplyObject);
    REQUIRE(reply);
    return text_of(*reply);
  }

 private:
  struct Free {
    void operator()(redisContext* context) const { redisFree(context); }
  };
  static std::string text_of(const redisReply& reply) {
    if (reply.type == REDIS_REPLY_INTEGER) return std::to_string(reply.integer);
    if (reply.type == REDIS_REPLY_NIL) return "(nil)";
    if (reply.type != REDIS_REPLY_ARRAY) return {reply.str, static_cast<std::size_t>(reply.len)};
    std::string text;
    for (std::size_t i = 0; i < reply.elements; ++i) text += text_of(*reply.element[i]) + "\n";
    return text;
  }

  std::unique_ptr<redisContext, Free> context_;
};

}  // namespace spotmesh::testing
