#include "store/redis/connection.hpp"

#include <fcntl.h>
#include <poll.h>

#include <utility>

namespace spotmesh::store::redis {

std::string_view text_of(const redisReply& reply) {
  if (reply.type != REDIS_REPLY_STRING && reply.type != REDIS_REPLY_STATUS &&
      reply.type != REDIS_REPLY_ERROR) {
    return {};
  }
  return {reply.str, static_cast<std::size_t>(reply.len)};
}

std::vector<const redisReply*> elements_of(const redisReply& reply) {
  if (reply.type != REDIS_REPLY_ARRAY) return {};
  return {reply.element, reply.element + reply.elements};
}

Connection::Connection(RedisAddress address)
    : address_(std::move(address)),
      context_(redisConnectNonBlock(address_.host.c_str(), address_.port)) {
  if (!context_) {
    fault_ = "out of memory";
  } else if (context_->err != 0) {
    note_fault();
  } else {
    fcntl(context_->fd, F_SETFD, FD_CLOEXEC);
  }
}

short Connection::wanted_events() const {
  return static_cast<short>(has_output_ ? POLLIN | POLLOUT : POLLIN);
}

void Connection::advance(short events) {
  // Reading first: an answer that came before the connection ended counts.
  if ((events & (POLLIN | POLLHUP | POLLERR)) != 0 && fault_.empty() &&
      redisBufferRead(context_.get()) != REDIS_OK) {
    return note_fault();
  }
  if ((events & POLLOUT) == 0 || !has_output_ || !fault_.empty()) return;
  int is_done = 0;
  if (redisBufferWrite(context_.get(), &is_done) != REDIS_OK) return note_fault();
  has_output_ = is_done == 0;
}

void Connection::append(const std::vector<std::string_view>& words) {
  if (!fault_.empty()) return;
  std::vector<const char*> starts;
  std::vector<std::size_t> lengths;
  starts.reserve(words.size());
  lengths.reserve(words.size());
  for (const std::string_view word : words) {
    starts.push_back(word.data());
    lengths.push_back(word.size());
  }
  if (redisAppendCommandArgv(context_.get(), static_cast<int>(words.size()), starts.data(),
                             lengths.data()) != REDIS_OK) {
    return note_fault();
  }
  has_output_ = true;
}

Reply Connection::next_reply() {
  void* reply = nullptr;
  if (context_ && redisGetReplyFromReader(context_.get(), &reply) != REDIS_OK) note_fault();
  return Reply(static_cast<redisReply*>(reply));
}

void Connection::note_fault() {
  if (fault_.empty()) fault_ = context_->errstr[0] == '\0' ? "unusable" : context_->errstr;
}

std::vector<std::string_view> auth_words(const RedisCredentials& credentials) {
  if (credentials.user.empty()) return {"AUTH", credentials.password};
  return {"AUTH", credentials.user, credentials.password};
}

}  // namespace spotmesh::store::redis
