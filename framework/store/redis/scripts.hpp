// The scripts that the operations are, how they are called and what their answers say.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "location/store.hpp"
#include "store/redis/connection.hpp"

namespace spotmesh::store::redis {

enum class Script { Read, Commit, Scan, Prepare };
inline constexpr std::size_t script_count = 4;
std::string_view text_of(Script script);

// The keys of one store in Redis, in the order in which scripts take them.
struct StoreKeys {
  explicit StoreKeys(const RedisOptions& options);
  std::array<std::string, 3> names;  // of the description, the records, their index
  std::string hint_channel;          // goes before the key that has changed
};

// What a script takes besides the keys.
std::vector<std::string> arguments_of_read(std::vector<std::string> keys);
std::vector<std::string> arguments_of_commit(location::Commit commit, const StoreKeys& keys);
std::vector<std::string> arguments_of_scan(std::string prefix, const std::string& cursor,
                                           std::size_t limit);

// What a commit's answer is read against.
struct CommitShape {
  std::vector<std::string> condition_keys;
  std::size_t writes = 0;
};

// Empty: the reply is not what the script answers.
std::optional<location::ReadResult> decode_read(const redisReply& reply);
std::optional<location::CommitResult> decode_commit(const redisReply& reply,
                                                    const CommitShape& shape);
std::optional<location::ScanPage> decode_scan(const redisReply& reply);
// "kept", "created": there was no store, "repaired": it had lost records; empty: an error.
std::string_view decode_prepare(const redisReply& reply);

// Errors that scripts give besides Redis' own, all without effect. A reply's first word is one of
// these where what it says matters.
inline constexpr std::string_view error_unprepared = "UNPREPARED";
inline constexpr std::string_view error_other_format = "OTHERFORMAT";
inline constexpr std::string_view error_readonly = "READONLY";
inline constexpr std::string_view error_no_script = "NOSCRIPT";
inline constexpr std::string_view error_stale_replica = "MASTERDOWN";
inline constexpr std::string_view error_loading = "LOADING";
std::string_view error_word(const redisReply& reply);

}  // namespace spotmesh::store::redis
