#include "store/redis/scripts.hpp"

#include <charconv>
#include <cstdint>
#include <utility>

#include <fmt/format.h>

namespace spotmesh::store::redis {

using location::CommitResult;
using location::StoreEpoch;
using location::StoreVersion;

namespace {

// Three keys: a hash that describes the store (format, identity, counter, records: how many there
// are), a hash of the records, and a sorted set of their keys, which scans go by. A record is its
// version's counter, a space, and its value. A count that does not agree shows that something else
// than these scripts has been at work.
#define SPOTMESH_STORE_PRELUDE \
  R"lua(
local description, records, index = KEYS[1], KEYS[2], KEYS[3]
local info = redis.call('INFO', 'replication')
if not string.find(info, 'role:master', 1, true) then
  return redis.error_reply('READONLY this server is a replica')
end
local is = redis.call('HMGET', description, 'format', 'identity', 'records', 'counter')
)lua"

#define SPOTMESH_STORE_EPOCH \
  R"lua(
local count = redis.call('HLEN', records)
if is[1] ~= '1' or not is[2] or not is[4] or is[3] ~= tostring(count) or
    redis.call('ZCARD', index) ~= count then
  return redis.error_reply('UNPREPARED the records are not what they were')
end
local replication = string.match(info, 'master_replid:(%x+)')
local epoch = string.sub(redis.sha1hex(is[2] .. replication), 1, 32)
)lua"

constexpr std::string_view read_text = SPOTMESH_STORE_PRELUDE SPOTMESH_STORE_EPOCH
    R"lua(
return {epoch, redis.call('HMGET', records, unpack(ARGV))}
)lua";

// Whatever can be refused is refused at the first write, so that a commit is whole or nothing. One
// that only deletes begins with that: Redis allows it when its memory is full.
constexpr std::string_view commit_text = SPOTMESH_STORE_PRELUDE SPOTMESH_STORE_EPOCH
    R"lua(
if ARGV[1] ~= '' and ARGV[1] ~= epoch then return {epoch, 'conflict', 0} end
local conditions = tonumber(ARGV[2])
for i = 1, conditions do
  local expected = ARGV[2 + 2 * i]
  local stored = redis.call('HGET', records, ARGV[1 + 2 * i])
  local version = stored and epoch .. string.match(stored, '^%d+') or ''
  if version ~= expected then return {epoch, 'conflict', i} end
end
if is[4] == '9223372036854775807' then
  return redis.error_reply('EXHAUSTED the version counter has no number left')
end
local first = 3 + 2 * conditions
local channel = ARGV[first]
local puts = 0
for i = first + 1, #ARGV, 3 do
  if ARGV[i + 1] == 'put' then puts = puts + 1 end
end
local counter
local function count_up()
  redis.call('HINCRBY', description, 'counter', 1)
  counter = redis.call('HGET', description, 'counter')
end
if puts > 0 then count_up() end
for i = first + 1, #ARGV, 3 do
  local key = ARGV[i]
  if ARGV[i + 1] == 'put' then
    if redis.call('HSET', records, key, counter .. ' ' .. ARGV[i + 2]) == 1 then
      redis.call('ZADD', index, 0, key)
    end
  elseif redis.call('HDEL', records, key) == 1 then
    redis.call('ZREM', index, key)
  end
end
if puts == 0 then count_up() end
redis.call('HSET', description, 'records', redis.call('HLEN', records))
for i = first + 1, #ARGV, 3 do redis.pcall('PUBLISH', channel .. ARGV[i], '') end
return {epoch, 'ok', counter}
)lua";

constexpr std::string_view scan_text = SPOTMESH_STORE_PRELUDE SPOTMESH_STORE_EPOCH
    R"lua(
local prefix, from, limit, most = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
local keys = redis.call('ZRANGEBYLEX', index, from, '+', 'LIMIT', 0, limit + 1)
local page, next, bytes, entries = {}, '', 0, 0
for i, key in ipairs(keys) do
  if string.sub(key, 1, #prefix) ~= prefix then break end
  if entries == limit or bytes >= most then
    next = keys[i - 1]
    break
  end
  local stored = redis.call('HGET', records, key)
  if not stored then
    return redis.error_reply('UNPREPARED the index names a record that is not there')
  end
  bytes = bytes + #stored - #string.match(stored, '^%d+ ')
  entries = entries + 1
  page[2 * entries - 1], page[2 * entries] = key, stored
end
return {epoch, next, page}
)lua";

// ARGV[1]: the identity of a store that has lost what it had. Also tries each command without
// effect: one that is not permitted must not be found out in the middle of a commit.
constexpr std::string_view prepare_text = SPOTMESH_STORE_PRELUDE
    R"lua(
if is[1] and is[1] ~= '1' then return redis.error_reply('OTHERFORMAT ' .. is[1]) end
local outcome = 'kept'
if not is[2] or not is[4] then
  outcome = 'created'
  redis.call('HSET', description, 'format', '1', 'identity', ARGV[1], 'counter', '0',
    'records', '0')
  redis.call('UNLINK', records, index)
else
  local count = redis.call('HLEN', records)
  if is[3] ~= tostring(count) or redis.call('ZCARD', index) ~= count then
    outcome = 'repaired'
    redis.call('HSET', description, 'identity', ARGV[1], 'records', count)
    redis.call('UNLINK', index)
    for _, key in ipairs(redis.call('HKEYS', records)) do redis.call('ZADD', index, 0, key) end
  end
end
local tries = {{'HGET', records, ''}, {'ZRANGEBYLEX', index, '-', '+', 'LIMIT', 0, 1},
  {'HSET', description, 'format', '1'}, {'HINCRBY', description, 'counter', 0},
  {'HDEL', records, ''}, {'ZREM', index, ''}, {'ZADD', index, 'XX', 0, ''}}
for _, try in ipairs(tries) do
  local result = redis.pcall(unpack(try))
  local fault = type(result) == 'table' and result.err
  if fault and not (string.find(fault, 'OOM', 1, true) or string.find(fault, 'MISCONF', 1, true) or
      string.find(fault, 'NOREPLICAS', 1, true)) then
    return redis.error_reply(fault)
  end
end
return {outcome}
)lua";

#undef SPOTMESH_STORE_PRELUDE
#undef SPOTMESH_STORE_EPOCH

std::string to_hex(const StoreEpoch& epoch) {
  return fmt::format("{:016x}{:016x}", epoch.high, epoch.low);
}

bool parse_u64(std::string_view text, int base, std::uint64_t& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  return error == std::errc{} && end == text.data() + text.size();
}

// The first element of each script's answer.
std::optional<StoreEpoch> epoch_of(const std::vector<const redisReply*>& answer) {
  StoreEpoch epoch;
  if (answer.size() < 2) return std::nullopt;
  const std::string_view text = text_of(*answer[0]);
  if (text.size() != 32 || !parse_u64(text.substr(0, 16), 16, epoch.high) ||
      !parse_u64(text.substr(16), 16, epoch.low)) {
    return std::nullopt;
  }
  return epoch;
}

std::optional<location::StoredValue> decode_stored(const redisReply& reply,
                                                   const StoreEpoch& epoch) {
  const std::string_view text = text_of(reply);
  const auto space = text.find(' ');
  location::StoredValue stored;
  stored.version.epoch = epoch;
  if (space == std::string_view::npos ||
      !parse_u64(text.substr(0, space), 10, stored.version.counter)) {
    return std::nullopt;
  }
  stored.value = to_bytes(text.substr(space + 1));
  return stored;
}

}  // namespace

std::string_view text_of(Script script) {
  switch (script) {
    case Script::Read:
      return read_text;
    case Script::Commit:
      return commit_text;
    case Script::Scan:
      return scan_text;
    case Script::Prepare:
      return prepare_text;
  }
  return {};
}

StoreKeys::StoreKeys(const RedisOptions& options) {
  const std::string start = "{" + options.prefix + "}:spotmesh:";
  names = {start + "store", start + "records", start + "index"};
  // Channels know no databases.
  hint_channel = fmt::format("{}hint:{}:", start, options.database);
}

std::vector<std::string> arguments_of_read(std::vector<std::string> keys) { return keys; }

std::vector<std::string> arguments_of_commit(location::Commit commit, const StoreKeys& keys) {
  std::vector<std::string> arguments;
  arguments.push_back(commit.epoch ? to_hex(*commit.epoch) : std::string{});
  arguments.push_back(std::to_string(commit.conditions.size()));
  for (location::Condition& condition : commit.conditions) {
    arguments.push_back(std::move(condition.key));
    arguments.push_back(condition.version ? to_hex(condition.version->epoch) +
                                                std::to_string(condition.version->counter)
                                          : std::string{});
  }
  arguments.push_back(keys.hint_channel);
  for (location::Write& write : commit.writes) {
    arguments.push_back(std::move(write.key));
    arguments.emplace_back(write.value ? "put" : "delete");
    arguments.emplace_back(write.value ? as_text(*write.value) : std::string_view{});
  }
  return arguments;
}

std::vector<std::string> arguments_of_scan(std::string prefix, const std::string& cursor,
                                           std::size_t limit) {
  std::string from = cursor < prefix ? "[" + prefix : "(" + cursor;
  return {std::move(prefix), std::move(from), std::to_string(limit),
          std::to_string(location::max_scan_page_bytes)};
}

std::optional<location::ReadResult> decode_read(const redisReply& reply) {
  const auto answer = elements_of(reply);
  const auto epoch = epoch_of(answer);
  if (!epoch) return std::nullopt;
  location::ReadResult result{*epoch, {}};
  for (const redisReply* value : elements_of(*answer[1])) {
    if (value->type == REDIS_REPLY_NIL) {
      result.values.emplace_back(std::nullopt);
      continue;
    }
    result.values.push_back(decode_stored(*value, *epoch));
    if (!result.values.back()) return std::nullopt;
  }
  return result;
}

std::optional<CommitResult> decode_commit(const redisReply& reply, const CommitShape& shape) {
  const auto answer = elements_of(reply);
  const auto epoch = epoch_of(answer);
  if (!epoch || answer.size() != 3) return std::nullopt;
  CommitResult result;
  result.epoch = *epoch;
  if (text_of(*answer[1]) == "ok") {
    StoreVersion version{*epoch, 0};
    if (!parse_u64(text_of(*answer[2]), 10, version.counter)) return std::nullopt;
    result.outcome = CommitResult::Outcome::Ok;
    result.versions.assign(shape.writes, version);
    return result;
  }
  const auto number = static_cast<std::size_t>(answer[2]->integer);
  if (text_of(*answer[1]) != "conflict" || number > shape.condition_keys.size()) {
    return std::nullopt;
  }
  result.outcome = CommitResult::Outcome::Conflict;
  if (number > 0) result.failed_key = shape.condition_keys[number - 1];
  return result;
}

std::optional<location::ScanPage> decode_scan(const redisReply& reply) {
  const auto answer = elements_of(reply);
  const auto epoch = epoch_of(answer);
  if (!epoch || answer.size() != 3) return std::nullopt;
  location::ScanPage page{*epoch, {}, std::string(text_of(*answer[1]))};
  const auto entries = elements_of(*answer[2]);
  for (std::size_t i = 0; i + 1 < entries.size(); i += 2) {
    auto stored = decode_stored(*entries[i + 1], *epoch);
    if (!stored) return std::nullopt;
    page.entries.push_back({std::string(text_of(*entries[i])), std::move(*stored)});
  }
  return page;
}

std::string_view decode_prepare(const redisReply& reply) {
  const auto answer = elements_of(reply);
  return answer.empty() ? std::string_view{} : text_of(*answer[0]);
}

std::string_view error_word(const redisReply& reply) {
  const std::string_view text = is_error(reply) ? text_of(reply) : std::string_view{};
  return text.substr(0, text.find(' '));
}

}  // namespace spotmesh::store::redis
