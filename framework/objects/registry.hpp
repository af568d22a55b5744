// Registry: the Ready objects of this node, by id.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <mutex>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <spotmesh/ids.hpp>

#include "base/small_mutex.hpp"
#include "objects/actor_cell.hpp"
#include "objects/spot_cell.hpp"
#include "runtime/ref_counted.hpp"

namespace spotmesh::objects {

// Any thread; changed on the strand alone.
class Registry {
 public:
  runtime::Ref<ActorCell> find_actor(std::string_view id) const { return actors_.find(id); }
  runtime::Ref<SpotCell> find_spot(std::string_view id) const { return spots_.find(id); }
  void add(runtime::Ref<ActorCell> cell) { actors_.add(std::move(cell)); }
  void add(runtime::Ref<SpotCell> cell) { spots_.add(std::move(cell)); }
  // This very cell. An id may have come to life again here before the store's answer to the end of
  // its former incarnation has arrived.
  void remove(const ActorCell& cell) { actors_.remove(cell); }
  void remove(const SpotCell& cell) { spots_.remove(cell); }

  // Visits a part of all objects, under a lock: `visit` only looks. Shards are 0 … shard_count - 1.
  static constexpr std::size_t shard_count = 64;
  void look_at(std::size_t shard, const std::function<void(ActorCell&)>& visit) const {
    actors_.look_at(shard, visit);
  }
  void look_at(std::size_t shard, const std::function<void(SpotCell&)>& visit) const {
    spots_.look_at(shard, visit);
  }

  std::vector<runtime::Ref<ActorCell>> actors() const { return actors_.all(); }
  std::vector<runtime::Ref<SpotCell>> spots() const { return spots_.all(); }

 private:
  template <typename Cell>
  class Table {
   public:
    runtime::Ref<Cell> find(std::string_view id) const {
      const Shard& shard = shard_of(id);
      std::lock_guard lock(shard.mutex);
      const auto found = shard.cells.find(id);
      return found == shard.cells.end() ? runtime::Ref<Cell>() : found->second;
    }
    void add(runtime::Ref<Cell> cell) {
      runtime::Ref<Cell> last;  // ends outside the lock
      const std::string_view id = cell->id().text();
      Shard& shard = shard_of(id);
      std::lock_guard lock(shard.mutex);
      if (const auto former = shard.cells.find(id); former != shard.cells.end()) {
        last = std::move(former->second);
        shard.cells.erase(former);
      }
      shard.cells.emplace(id, std::move(cell));
    }
    void remove(const Cell& cell) {
      runtime::Ref<Cell> last;  // ends outside the lock
      Shard& shard = shard_of(cell.id().text());
      std::lock_guard lock(shard.mutex);
      const auto found = shard.cells.find(cell.id().text());
      if (found == shard.cells.end() || found->second.get() != &cell) return;
      last = std::move(found->second);
      shard.cells.erase(found);
    }
    void look_at(std::size_t shard, const std::function<void(Cell&)>& visit) const {
      std::lock_guard lock(shards_[shard].mutex);
      for (const auto& [id, cell] : shards_[shard].cells) visit(*cell);
    }
    std::vector<runtime::Ref<Cell>> all() const {
      std::vector<runtime::Ref<Cell>> found;
      for (const Shard& shard : shards_) {
        std::lock_guard lock(shard.mutex);
        for (const auto& [id, cell] : shard.cells) found.push_back(cell);
      }
      // The order of a hash table is no one's business, and must not enter a simulated run.
      std::ranges::sort(found, {}, [](const auto& cell) { return cell->id(); });
      return found;
    }

   private:
    // On lines of memory of its own, since every message looks into one. The keys are the ids in
    // the cells.
    struct alignas(64) Shard {
      mutable SmallMutex mutex;
      std::unordered_map<std::string_view, runtime::Ref<Cell>> cells;
    };

    static std::size_t index_of(std::string_view id) {
      return std::hash<std::string_view>{}(id) % shard_count;
    }
    const Shard& shard_of(std::string_view id) const { return shards_[index_of(id)]; }
    Shard& shard_of(std::string_view id) { return shards_[index_of(id)]; }

    std::array<Shard, shard_count> shards_;
  };

  Table<ActorCell> actors_;
  Table<SpotCell> spots_;
};

}  // namespace spotmesh::objects
