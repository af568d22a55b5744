#include "store/redis/handshake.hpp"

#include <charconv>
#include <utility>

#include <fmt/format.h>

namespace spotmesh::store::redis {
namespace {

// No client has it: ending it shows that ending one is permitted.
constexpr std::string_view nobody = "9223372036854775807";

}  // namespace

Handshake::Handshake(Connection& connection, const RedisOptions& options, const StoreKeys& keys,
                     const std::vector<Abandoned>& abandoned, std::string identity)
    : connection_(connection),
      options_(options),
      keys_(keys),
      abandoned_(abandoned),
      identity_(std::move(identity)) {
  if (!options.credentials.password.empty()) ask(Step::Auth, auth_words(options.credentials));
  if (options.database != 0) ask(Step::Select, {"SELECT", std::to_string(options.database)});
  ask(Step::ClientId, {"CLIENT", "ID"});
  ask(Step::Info, {"INFO"});
  ask(Step::MaxLag, {"CONFIG", "GET", "min-replicas-max-lag"});
}

void Handshake::ask(Step step, const std::vector<std::string_view>& words) {
  connection_.append(words);
  steps_.push_back(step);
}

void Handshake::begin_second_round() {
  ask(Step::Kill, {"CLIENT", "KILL", "ID", nobody});
  for (const Abandoned& each : abandoned_) {
    if (each.run_id != facts_.run_id) continue;
    ask(Step::Kill, {"CLIENT", "KILL", "ID", std::to_string(each.client_id)});
  }
  for (std::size_t i = 0; i < script_count; ++i) {
    ask(Step::Load, {"SCRIPT", "LOAD", text_of(static_cast<Script>(i))});
  }
  ask(Step::Prepare, {"EVAL", text_of(Script::Prepare), "3", keys_.names[0], keys_.names[1],
                      keys_.names[2], identity_});
}

void Handshake::on_reply(const redisReply& reply) {
  if (is_ready_ || refusal_ || taken_ == steps_.size()) return;
  const Step step = steps_[taken_++];
  // Managed servers refuse CONFIG; that costs a warning, no more.
  if (is_error(reply) && step != Step::MaxLag) return refuse(step, reply);
  take(step, reply);
  if (refusal_ || taken_ < steps_.size()) return;
  if (step == Step::MaxLag) {
    refusal_ = refuse_server(facts_);
    if (!refusal_) begin_second_round();
  } else {
    is_ready_ = true;
  }
}

void Handshake::take(Step step, const redisReply& reply) {
  switch (step) {
    case Step::ClientId:
      client_id_ = reply.integer;
      break;
    case Step::Info:
      facts_ = parse_info(text_of(reply));
      break;
    case Step::MaxLag:
      if (const auto words = elements_of(reply); words.size() == 2) {
        const std::string_view text = text_of(*words[1]);
        unsigned seconds = 0;
        std::from_chars(text.data(), text.data() + text.size(), seconds);
        facts_.max_lag_seconds = seconds;
      }
      break;
    case Step::Load:
      hashes_[loaded_++] = text_of(reply);
      break;
    case Step::Prepare:
      outcome_ = decode_prepare(reply);
      break;
    case Step::Auth:
    case Step::Select:
    case Step::Kill:
      break;
  }
}

void Handshake::refuse(Step step, const redisReply& reply) {
  const std::string_view word = error_word(reply);
  const std::string_view text = text_of(reply);
  if (word == error_other_format) {
    refusal_ = Refusal{Error::invalid_operation(fmt::format(
                           "the store with prefix \"{}\" is of format {}; this program knows 1",
                           options_.prefix, text.substr(text.find(' ') + 1))),
                       true};
  } else if (word == error_loading || word == error_readonly || word == error_stale_replica ||
             word == "BUSY" || word == "OOM" || word == "MISCONF" || word == "NOREPLICAS" ||
             text.find("max number of clients") != std::string_view::npos) {
    refusal_ = Refusal{Error::unavailable(std::string(text)), false};
  } else if (step == Step::Auth && options_.credentials.user.empty()) {
    refusal_ = Refusal{Error::rejected(fmt::format("it refuses the password: {}", text)), true};
  } else if (step == Step::Auth) {
    refusal_ = Refusal{Error::rejected(fmt::format("it refuses the password of user '{}': {}",
                                                   options_.credentials.user, text)),
                       true};
  } else {
    refusal_ = Refusal{Error::rejected(std::string(text)), true};
  }
}

}  // namespace spotmesh::store::redis
