#include "store/redis/engine.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <utility>

#include <fmt/format.h>

namespace spotmesh::store {

using location::CommitResult;
using redis::Script;
using std::chrono::steady_clock;
using Outcome = location::CommitResult::Outcome;

namespace {

CommitResult without_effect(Outcome outcome, std::string message) {
  CommitResult result;
  result.outcome = outcome;
  result.message = std::move(message);
  return result;
}

std::size_t bytes_of(const std::vector<std::string>& words) {
  std::size_t bytes = 0;
  for (const std::string& word : words) bytes += word.size();
  return bytes;
}

// How long poll() may wait; rounded up, so that what is due then is due.
int milliseconds_until(redis::SteadyTime until) {
  constexpr std::chrono::milliseconds longest = std::chrono::hours(1);
  const redis::SteadyTime now = steady_clock::now();
  if (until <= now) return 0;
  if (until - now > longest) return static_cast<int>(longest.count());
  return static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(until - now).count());
}

}  // namespace

RedisStore::Engine::Engine(RedisOptions options)
    : options_(std::move(options)), keys_(options_), wake_descriptor_(eventfd(0, EFD_CLOEXEC)) {
  if (wake_descriptor_ < 0) throw ConfigurationError("no descriptor is left for the Redis store");
  thread_ = std::thread([this] { run(); });
}

RedisStore::Engine::~Engine() {
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
  }
  wake();
  thread_.join();
  close(wake_descriptor_);
}

Result<void> RedisStore::Engine::wait_until_ready() {
  std::unique_lock lock(mutex_);
  state_changed_.wait_for(lock, options_.operation_timeout,
                          [this] { return has_been_ready_ || refusal_.is_final; });
  if (has_been_ready_) return {};
  return fail(refusal_.error);
}

void RedisStore::Engine::wake() const {
  const std::uint64_t one = 1;
  // It cannot fail but for 2^64 - 2 calls before the thread has looked.
  [[maybe_unused]] const auto written = ::write(wake_descriptor_, &one, sizeof one);
}

void RedisStore::Engine::refuse(std::function<void()> answer) {
  {
    std::unique_lock lock(mutex_);
    // The thread that answers them cannot wait for itself.
    if (std::this_thread::get_id() != thread_.get_id()) {
      refusals_taken_.wait(lock, [this] { return refusals_.size() < options_.queue_limit; });
    }
    refusals_.push_back(std::move(answer));
  }
  wake();
}

void RedisStore::Engine::read(std::vector<std::string> keys, location::ReadCallback done) {
  const std::string fault = location::fault_of_read(keys);
  if (!fault.empty()) {
    return refuse([done = std::move(done), fault] { done(fail(Error::invalid_operation(fault))); });
  }
  const std::size_t count = keys.size();
  submit(Script::Read, redis::arguments_of_read(std::move(keys)),
         [count, done = std::move(done)](const redisReply* reply, const Failure* failure) {
           if (failure != nullptr) return done(fail(Error::unavailable(failure->message))), true;
           auto result = redis::decode_read(*reply);
           if (!result || result->values.size() != count) return false;
           done(std::move(*result));
           return true;
         });
}

void RedisStore::Engine::commit(location::Commit commit, location::CommitCallback done) {
  if (std::string fault = location::fault_of_commit(commit); !fault.empty()) {
    return refuse([done = std::move(done), fault = std::move(fault)] {
      done(without_effect(Outcome::Malformed, fault));
    });
  }
  redis::CommitShape shape{{}, commit.writes.size()};
  for (const auto& condition : commit.conditions) shape.condition_keys.push_back(condition.key);
  submit(Script::Commit, redis::arguments_of_commit(std::move(commit), keys_),
         [shape = std::move(shape), done = std::move(done)](const redisReply* reply,
                                                            const Failure* failure) {
           if (failure != nullptr) {
             const auto outcome = failure->is_unknown ? Outcome::Unknown : Outcome::Unavailable;
             return done(without_effect(outcome, failure->message)), true;
           }
           auto result = redis::decode_commit(*reply, shape);
           if (!result) return false;
           done(std::move(*result));
           return true;
         });
}

void RedisStore::Engine::scan(std::string prefix, const std::string& cursor, std::size_t limit,
                              location::ScanCallback done) {
  const std::string fault = location::fault_of_scan(prefix, cursor, limit);
  if (!fault.empty()) {
    return refuse([done = std::move(done), fault] { done(fail(Error::invalid_operation(fault))); });
  }
  submit(Script::Scan, redis::arguments_of_scan(std::move(prefix), cursor, limit),
         [done = std::move(done)](const redisReply* reply, const Failure* failure) {
           if (failure != nullptr) return done(fail(Error::unavailable(failure->message))), true;
           auto page = redis::decode_scan(*reply);
           if (!page) return false;
           done(std::move(*page));
           return true;
         });
}

void RedisStore::Engine::submit(Script script, std::vector<std::string> arguments, Answer answer) {
  Operation operation{
      .script = script,
      .arguments = std::move(arguments),
      .answer = std::move(answer),
      .deadline = steady_clock::now() +
                  std::chrono::duration_cast<steady_clock::duration>(options_.operation_timeout)};
  operation.bytes = bytes_of(operation.arguments);
  std::string reason;
  bool is_first = false;
  {
    const std::lock_guard lock(mutex_);
    if (is_stopping_) {
      reason = "the store is being closed";
    } else if (outstanding_ >= options_.queue_limit) {
      reason = fmt::format("{} operations are waiting for Redis already", outstanding_);
    } else if (outstanding_ > 0 && outstanding_bytes_ + operation.bytes > options_.queue_bytes) {
      reason = fmt::format("{} bytes are waiting for Redis already", outstanding_bytes_);
    } else {
      ++outstanding_;
      outstanding_bytes_ += operation.bytes;
      is_first = queue_.empty();
      queue_.push_back(std::move(operation));
    }
  }
  if (reason.empty()) {
    if (is_first) wake();
    return;
  }
  refuse([answer = std::move(operation.answer), reason = std::move(reason)] {
    const Failure failure{false, reason};
    answer(nullptr, &failure);
  });
}

void RedisStore::Engine::watch(std::string prefix, location::HintCallback hint) {
  {
    const std::lock_guard lock(mutex_);
    new_watches_.push_back({std::move(prefix), std::move(hint)});
  }
  wake();
}

// The store's thread.

void RedisStore::Engine::run() {
  // hiredis writes to connections that may have ended.
  sigset_t pipe_signal;
  sigemptyset(&pipe_signal);
  sigaddset(&pipe_signal, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &pipe_signal, nullptr);
  take_what_is_new();
  process(steady_clock::now());
  while (!is_over()) {
    wait(next_wake());
    take_what_is_new();
    process(steady_clock::now());
  }
}

// The store is being closed, and everything has its answer.
bool RedisStore::Engine::is_over() {
  const std::lock_guard lock(mutex_);
  return is_stopping_ && outstanding_ == 0 && refusals_.empty();
}

void RedisStore::Engine::take_what_is_new() {
  std::vector<std::function<void()>> refusals;
  std::vector<NewWatch> watches;
  {
    const std::lock_guard lock(mutex_);
    std::move(queue_.begin(), queue_.end(), std::back_inserter(waiting_));
    queue_.clear();
    refusals.swap(refusals_);
    watches.swap(new_watches_);
  }
  refusals_taken_.notify_all();
  for (NewWatch& watch : watches) hints_.add(std::move(watch.prefix), std::move(watch.hint));
  for (const auto& answer : refusals) answer();
}

void RedisStore::Engine::process(SteadyTime now) {
  link_.process(now);
  tell_whether_ready();
  if (link_.is_ready()) {
    take_replies();
  }
  if (link_.is_ready()) {
    if (!link_.primary()->fault().empty()) {
      lose_connection(link_.primary()->fault(), now);
    } else if (link_.is_outdated()) {
      lose_connection("Sentinel names another primary", now);
    } else if (is_overdue(now)) {
      lose_connection("it does not answer", now);
    } else if (must_leave_ && in_flight_.empty()) {
      lose_connection("it is a replica", now);
    }
  }
  expire(now);
  send_waiting(now);
  hints_.process(link_.is_ready() ? &link_.address() : nullptr, now);
}

void RedisStore::Engine::tell_whether_ready() {
  {
    const std::lock_guard lock(mutex_);
    if (has_been_ready_) return;
    has_been_ready_ = link_.is_ready();
    refusal_ = link_.refusal();
    if (!has_been_ready_ && !refusal_.is_final) return;
  }
  state_changed_.notify_all();
}

void RedisStore::Engine::take_replies() {
  while (!in_flight_.empty()) {
    const redis::Reply reply = link_.primary()->next_reply();
    if (!reply) break;
    Operation operation = std::move(in_flight_.front());
    in_flight_.pop_front();
    bytes_in_flight_ -= operation.bytes;
    if (redis::is_error(*reply)) {
      take_error(std::move(operation), *reply);
    } else {
      take_reply(std::move(operation), *reply);
    }
  }
  waiting_.insert(waiting_.begin(), std::make_move_iterator(returned_.begin()),
                  std::make_move_iterator(returned_.end()));
  returned_.clear();
}

void RedisStore::Engine::take_reply(Operation operation, const redisReply& reply) {
  if (is_commit(operation) && runtime::fault_strikes(options_.faults, "redis.commit-applied")) {
    in_flight_.push_front(std::move(operation));
    bytes_in_flight_ += in_flight_.front().bytes;
    return lose_connection("struck before the answer", steady_clock::now());
  }
  finish(operation, &reply, nullptr);
}

// Redis refuses commands as a whole, and scripts refuse before they write.
void RedisStore::Engine::take_error(Operation operation, const redisReply& reply) {
  const std::string_view word = redis::error_word(reply);
  if (word == redis::error_no_script) {
    operation.must_send_text = true;
    returned_.push_back(std::move(operation));
  } else if (word == redis::error_unprepared) {
    must_prepare_ = true;
    returned_.push_back(std::move(operation));
  } else if (word == redis::error_readonly || word == redis::error_stale_replica ||
             word == redis::error_loading) {
    must_leave_ = true;
    returned_.push_back(std::move(operation));
  } else {
    const Failure failure{
        false, fmt::format("Redis {}: {}", to_string(link_.address()), redis::text_of(reply))};
    finish(operation, nullptr, &failure);
  }
}

// Commits that were sent may have been executed, and may still be; readings are asked again.
void RedisStore::Engine::lose_connection(const std::string& reason, SteadyTime now) {
  const bool has_commits = std::any_of(in_flight_.begin(), in_flight_.end(), is_commit);
  link_.drop(reason, has_commits, now);
  must_prepare_ = must_leave_ = false;
  std::deque<Operation> lost = std::exchange(in_flight_, {});
  bytes_in_flight_ = 0;
  auto place = waiting_.begin();
  for (Operation& operation : lost) {
    if (is_commit(operation)) {
      const Failure failure{
          true, fmt::format("{}, and a commit was under way", link_.refusal().error.message())};
      finish(operation, nullptr, &failure);
    } else if (operation.script != Script::Prepare) {
      place = std::next(waiting_.insert(place, std::move(operation)));
    }
  }
}

void RedisStore::Engine::expire(SteadyTime now) {
  while (!waiting_.empty() && waiting_.front().deadline <= now) {
    Operation operation = std::move(waiting_.front());
    waiting_.pop_front();
    const Failure failure{
        false, link_.is_ready() ? fmt::format("Redis {}: more waits for it than it does in time",
                                              to_string(link_.address()))
                                : link_.refusal().error.message()};
    finish(operation, nullptr, &failure);
  }
}

void RedisStore::Engine::send_waiting(SteadyTime now) {
  if (!link_.is_ready() || must_leave_) return;
  if (std::exchange(must_prepare_, false)) {
    send({.script = Script::Prepare,
          .arguments = {link_.new_identity()},
          .answer =
              [this](const redisReply* reply, const Failure*) {
                if (reply != nullptr) link_.tell_prepared(redis::decode_prepare(*reply));
                return true;
              },
          .deadline =
              now + std::chrono::duration_cast<steady_clock::duration>(options_.operation_timeout),
          .must_send_text = true});
  }
  while (!waiting_.empty() && in_flight_.size() < options_.operations_in_flight &&
         (in_flight_.empty() ||
          bytes_in_flight_ + waiting_.front().bytes <= options_.bytes_in_flight)) {
    Operation operation = std::move(waiting_.front());
    waiting_.pop_front();
    const bool is_lost =
        is_commit(operation) && runtime::fault_strikes(options_.faults, "redis.commit-lost");
    if (is_lost) {
      in_flight_.push_back(std::move(operation));
      return lose_connection("struck before the commit", now);
    }
    send(std::move(operation));
  }
}

void RedisStore::Engine::send(Operation operation) {
  const bool has_text = operation.must_send_text;
  std::vector<std::string_view> words = {
      has_text ? "EVAL" : "EVALSHA",
      has_text ? redis::text_of(operation.script) : link_.hash_of(operation.script),
      "3",
      keys_.names[0],
      keys_.names[1],
      keys_.names[2]};
  words.insert(words.end(), operation.arguments.begin(), operation.arguments.end());
  link_.primary()->append(words);
  bytes_in_flight_ += operation.bytes;
  in_flight_.push_back(std::move(operation));
}

void RedisStore::Engine::finish(Operation& operation, const redisReply* reply,
                                const Failure* failure) {
  if (operation.script != Script::Prepare) {
    const std::lock_guard lock(mutex_);
    --outstanding_;
    outstanding_bytes_ -= operation.bytes;
  }
  if (operation.answer(reply, failure)) return;
  const Failure odd{is_commit(operation),
                    fmt::format("Redis {}: an answer that no script of the store gives",
                                to_string(link_.address()))};
  operation.answer(nullptr, &odd);
}

bool RedisStore::Engine::is_overdue(SteadyTime now) const {
  return std::any_of(in_flight_.begin(), in_flight_.end(),
                     [now](const Operation& operation) { return operation.deadline <= now; });
}

RedisStore::Engine::SteadyTime RedisStore::Engine::next_wake() const {
  SteadyTime wake = std::min(link_.next_wake(), hints_.next_wake());
  if (!waiting_.empty()) wake = std::min(wake, waiting_.front().deadline);
  for (const Operation& operation : in_flight_) wake = std::min(wake, operation.deadline);
  return wake;
}

void RedisStore::Engine::wait(SteadyTime until) {
  std::array<redis::Connection*, 3> connections = {link_.primary(), link_.sentinel(),
                                                   hints_.connection()};
  std::array<pollfd, 4> polled{};
  for (std::size_t i = 0; i < connections.size(); ++i) {
    redis::Connection* connection = connections[i];
    // One with a fault is dealt with at once, and poll() passes over what is below zero.
    const bool is_usable = connection != nullptr && connection->fault().empty();
    polled[i].fd = is_usable ? connection->descriptor() : -1;
    polled[i].events = is_usable ? connection->wanted_events() : short{0};
    if (connection != nullptr && !is_usable) until = {};
  }
  polled[3] = {wake_descriptor_, POLLIN, 0};
  if (poll(polled.data(), polled.size(), milliseconds_until(until)) <= 0) return;
  for (std::size_t i = 0; i < connections.size(); ++i) {
    if (polled[i].fd >= 0 && polled[i].revents != 0) connections[i]->advance(polled[i].revents);
  }
  if (polled[3].revents != 0) {
    std::uint64_t count = 0;
    [[maybe_unused]] const auto got = ::read(wake_descriptor_, &count, sizeof count);
  }
}

}  // namespace spotmesh::store
