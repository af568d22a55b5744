// The store of an explored cluster: answers at once, forgets and falls silent when it is told to.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "location/keys.hpp"
#include "location/store.hpp"

namespace spotmesh::testing {

class ExploredStore {
 public:
  using Value = std::shared_ptr<const Bytes>;
  // A key that was deleted keeps its counter: versions never repeat.
  struct Entry {
    Value value;
    std::uint64_t counter = 0;
  };
  // What a commit has overwritten.
  using Undo = std::vector<std::pair<std::string, Value>>;
  // So many commits can be forgotten one by one, those of beats alone not counted.
  static constexpr std::size_t most_undone = 2;

  bool is_away = false;

  location::StoreEpoch epoch() const { return {epoch_, 0}; }
  const std::map<std::string, Entry>& entries() const { return entries_; }
  const std::vector<Undo>& undo() const { return undo_; }

  Value find(const std::string& key) const {
    const auto found = entries_.find(key);
    return found == entries_.end() ? nullptr : found->second.value;
  }
  std::optional<location::StoreVersion> version(std::string_view key) const {
    const auto found = entries_.find(std::string(key));
    if (found == entries_.end() || !found->second.value) return std::nullopt;
    return location::StoreVersion{epoch(), found->second.counter};
  }

  Result<location::ReadResult> read(const std::vector<std::string>& keys) const {
    if (is_away) return fail(Error::unavailable("away"));
    location::ReadResult result{epoch(), {}};
    for (const std::string& key : keys) {
      const auto present = version(key);
      result.values.push_back(present ? std::optional(location::StoredValue{*find(key), *present})
                                      : std::nullopt);
    }
    return result;
  }

  location::CommitResult commit(const location::Commit& commit) {
    using Outcome = location::CommitResult::Outcome;
    location::CommitResult result;
    result.epoch = epoch();
    if (is_away) return result;
    result.outcome = Outcome::Conflict;
    if (commit.epoch && *commit.epoch != epoch()) return result;
    for (const auto& condition : commit.conditions) {
      if (version(condition.key) == condition.version) continue;
      result.failed_key = condition.key;
      return result;
    }
    Undo undo;
    for (const auto& write : commit.writes) {
      Entry& entry = entries_[write.key];
      undo.emplace_back(write.key, entry.value);
      entry.value = write.value ? std::make_shared<const Bytes>(*write.value) : nullptr;
      result.versions.push_back({epoch(), ++entry.counter});
    }
    const bool is_beat_only =
        undo.size() == 1 && undo.front().first.starts_with(location::keys::beat_prefix);
    if (!is_beat_only) remember(std::move(undo));
    result.outcome = Outcome::Ok;
    return result;
  }

  // A fail-over: the last `commits` are gone; all of them: the store is empty.
  void forget(std::size_t commits) {
    for (; commits > 0 && commits <= most_undone && !undo_.empty(); --commits) {
      for (auto& [key, value] : undo_.back()) entries_[key].value = std::move(value);
      undo_.pop_back();
    }
    if (commits > most_undone) {
      for (auto& [key, entry] : entries_) entry.value = nullptr;
    }
    ++epoch_;
    remembers(false);
  }
  // Whether it can still forget.
  void remembers(bool may_forget) {
    may_forget_ = may_forget;
    undo_.clear();
  }

 private:
  void remember(Undo undo) {
    if (!may_forget_) return;
    if (undo_.size() == most_undone) undo_.erase(undo_.begin());
    undo_.push_back(std::move(undo));
  }

  std::uint64_t epoch_ = 1;
  std::map<std::string, Entry> entries_;
  bool may_forget_ = false;
  std::vector<Undo> undo_;
};

}  // namespace spotmesh::testing
