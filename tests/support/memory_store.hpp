// A LocationStore in memory for benchmarks and long runs: correct, and as fast as a store can be.
#pragma once

#include <sys/mman.h>
#include <cstddef>
#include <map>
#include <memory_resource>
#include <mutex>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "location/store.hpp"
#include "runtime/strand.hpp"

namespace spotmesh::testing {

// Straight from the system, so that what the store holds does not count as memory of the heap.
class SystemPages final : public std::pmr::memory_resource {
 public:
  // What the system has given and not got back.
  std::size_t bytes() const { return bytes_; }

 private:
  void* do_allocate(std::size_t bytes, std::size_t) override {
    void* pages = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) throw std::bad_alloc();
    bytes_ += bytes;
    return pages;
  }
  void do_deallocate(void* pages, std::size_t bytes, std::size_t) override {
    munmap(pages, bytes);
    bytes_ -= bytes;
  }
  bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override {
    return this == &other;
  }

  std::size_t bytes_ = 0;
};

// Answers on a strand of `scheduler`, which it needs until all of them are given. Any thread.
class MemoryStore final : public location::LocationStore {
 public:
  explicit MemoryStore(runtime::Scheduler& scheduler) : answers_(scheduler) {}

  void read(std::vector<std::string> keys, location::ReadCallback done) override {
    location::ReadResult result{.epoch = epoch, .values = {}};
    {
      std::lock_guard lock(mutex_);
      for (const std::string& key : keys) result.values.push_back(find(key));
    }
    answers_.post([done = std::move(done), result = std::move(result)] { done(result); });
  }

  void commit(location::Commit commit, location::CommitCallback done) override {
    location::CommitResult result = execute(commit);
    if (result.outcome == location::CommitResult::Outcome::Ok) hint(commit.writes);
    answers_.post([done = std::move(done), result = std::move(result)] { done(result); });
  }

  void scan(std::string prefix, std::string cursor, std::size_t limit,
            location::ScanCallback done) override {
    location::ScanPage page{.epoch = epoch, .entries = {}, .next = {}};
    {
      std::lock_guard lock(mutex_);
      auto at = cursor < prefix ? entries_.lower_bound(std::string_view(prefix))
                                : entries_.upper_bound(std::string_view(cursor));
      for (; at != entries_.end() && at->first.starts_with(prefix); ++at) {
        if (page.entries.size() == limit) {
          page.next = page.entries.back().key;
          break;
        }
        page.entries.push_back({std::string(at->first), stored(at->second)});
      }
    }
    answers_.post([done = std::move(done), page = std::move(page)] { done(page); });
  }

  void watch(std::string prefix, location::HintCallback hint) override {
    std::lock_guard lock(mutex_);
    watches_.emplace_back(std::move(prefix), std::move(hint));
  }
  std::string describe() const override { return "memory"; }

  std::size_t size() const {
    std::lock_guard lock(mutex_);
    return entries_.size();
  }

  // The memory that all of it lies in, none of which is the heap's.
  std::size_t bytes() const {
    std::lock_guard lock(mutex_);
    return pages_.bytes();
  }

 private:
  static constexpr location::StoreEpoch epoch{1, 1};

  struct Entry {
    std::pmr::string value;
    std::uint64_t counter = 0;
  };

  static location::StoredValue stored(const Entry& entry) {
    const auto* bytes = reinterpret_cast<const std::byte*>(entry.value.data());
    return {Bytes(bytes, bytes + entry.value.size()), {epoch, entry.counter}};
  }
  std::optional<location::StoredValue> find(std::string_view key) const {
    const auto found = entries_.find(key);
    if (found == entries_.end()) return {};
    return stored(found->second);
  }
  bool holds(const location::Condition& condition) const {
    const auto found = entries_.find(std::string_view(condition.key));
    if (found == entries_.end()) return !condition.version.has_value();
    return condition.version == location::StoreVersion{epoch, found->second.counter};
  }
  void hint(const std::vector<location::Write>& writes) {
    std::lock_guard lock(mutex_);
    for (const location::Write& write : writes) {
      for (const auto& [prefix, hint] : watches_) {
        if (write.key.starts_with(prefix)) answers_.post([hint, key = write.key] { hint(key); });
      }
    }
  }
  location::CommitResult execute(const location::Commit& commit) {
    using Outcome = location::CommitResult::Outcome;
    location::CommitResult result;
    result.epoch = epoch;
    result.outcome = Outcome::Conflict;
    std::lock_guard lock(mutex_);
    if (commit.epoch.has_value() && *commit.epoch != epoch) return result;
    for (const location::Condition& condition : commit.conditions) {
      if (holds(condition)) continue;
      result.failed_key = condition.key;
      return result;
    }
    result.outcome = Outcome::Ok;
    for (const location::Write& write : commit.writes) {
      const std::uint64_t counter = ++counter_;
      result.versions.push_back({epoch, counter});
      if (!write.value.has_value()) {
        const auto found = entries_.find(std::string_view(write.key));
        if (found != entries_.end()) entries_.erase(found);
        continue;
      }
      auto at = entries_.find(std::string_view(write.key));
      if (at == entries_.end()) {
        at = entries_
                 .emplace(std::pmr::string(write.key, &memory_),
                          Entry{.value = std::pmr::string(&memory_)})
                 .first;
      }
      Entry& entry = at->second;
      entry.value.assign(reinterpret_cast<const char*>(write.value->data()), write.value->size());
      entry.counter = counter;
    }
    return result;
  }

  runtime::Strand answers_;
  mutable std::mutex mutex_;
  SystemPages pages_;
  std::pmr::unsynchronized_pool_resource memory_{&pages_};
  std::pmr::map<std::pmr::string, Entry, std::less<>> entries_{&memory_};
  std::uint64_t counter_ = 0;
  std::vector<std::pair<std::string, location::HintCallback>> watches_;
};

}  // namespace spotmesh::testing
