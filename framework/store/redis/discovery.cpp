#include "store/redis/discovery.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

#include <fmt/format.h>

#include "base/retry_pause.hpp"

namespace spotmesh::store::redis {
namespace {

constexpr auto first_pause = std::chrono::milliseconds(20);
constexpr auto last_pause = std::chrono::milliseconds(500);

}  // namespace

Discovery::Discovery(const RedisOptions& options, Random& random)
    : options_(options), random_(random) {
  if (!options.master_name.empty()) return;
  primary_ = options.addresses.front();
  wake_ = SteadyTime::max();
}

void Discovery::process(SteadyTime now) {
  if (options_.master_name.empty()) return;
  while (connection_ && expected_ > 0) {
    const Reply reply = connection_->next_reply();
    if (!reply) break;
    --expected_;
    take(*reply, now);
  }
  if (connection_ && !connection_->fault().empty()) {
    give_up({Error::unavailable(connection_->fault()), false}, now);
  }
  if (now < wake_) return;
  if (expected_ > 0) {
    give_up({Error::unavailable("it does not answer"), false}, now);
  } else {
    ask(now);
  }
}

void Discovery::doubt(SteadyTime now) {
  if (options_.master_name.empty() || expected_ > 0) return;
  connection_.reset();
  chosen_ = (chosen_ + 1) % options_.addresses.size();
  wake_ = now;
}

void Discovery::ask(SteadyTime now) {
  if (!connection_) {
    connection_ = std::make_unique<Connection>(sentinel());
    if (!options_.sentinel_credentials.password.empty()) {
      connection_->append(auth_words(options_.sentinel_credentials));
      ++expected_;
    }
  }
  connection_->append({"SENTINEL", "get-master-addr-by-name", options_.master_name});
  ++expected_;
  wake_ = now + std::chrono::duration_cast<SteadyTime::duration>(options_.connect_timeout);
}

void Discovery::take(const redisReply& reply, SteadyTime now) {
  if (is_error(reply)) {
    return give_up({Error::rejected(std::string(text_of(reply))), true}, now);
  }
  if (expected_ > 0) return;  // the answer to AUTH
  const auto words = elements_of(reply);
  if (words.size() != 2) {
    return give_up(
        {Error::not_found(fmt::format("it watches no primary called '{}'", options_.master_name)),
         options_.addresses.size() == 1},
        now);
  }
  const std::string_view port = text_of(*words[1]);
  RedisAddress address{std::string(text_of(*words[0])), 0};
  std::from_chars(port.data(), port.data() + port.size(), address.port);
  primary_ = std::move(address);
  refusal_.reset();
  failures_ = 0;
  wake_ = now + std::chrono::duration_cast<SteadyTime::duration>(options_.sentinel_interval);
}

void Discovery::give_up(Refusal refusal, SteadyTime now) {
  refusal.error = Error(refusal.error.kind(), fmt::format("Sentinel {}: {}", to_string(sentinel()),
                                                          refusal.error.message()));
  refusal_ = std::move(refusal);
  connection_.reset();
  expected_ = 0;
  chosen_ = (chosen_ + 1) % options_.addresses.size();
  // All of them once without a pause.
  ++failures_;
  const auto rounds = failures_ / static_cast<unsigned>(options_.addresses.size());
  wake_ = rounds == 0 ? now
                      : now + std::chrono::duration_cast<SteadyTime::duration>(
                                  retry_pause(random_, rounds, first_pause, last_pause));
}

}  // namespace spotmesh::store::redis
