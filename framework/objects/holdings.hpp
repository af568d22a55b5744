// Holdings: which incarnations this node has or has pending.
#pragma once

#include <cstddef>
#include <functional>
#include <string_view>
#include <unordered_set>

#include <spotmesh/ids.hpp>

#include "location/authority.hpp"

namespace spotmesh::objects {

// Several creations of one id may be under way at once, each with a generation of its own, before
// the store decides between them; so one key can stand here more than once. An incarnation is here
// from the moment its slot is taken until the slot is free again or the object is gone: a record
// that names this node's run for anything else is a leftover, which the next creation takes over.
// Strand only.
class Holdings final : public location::LocalObjects {
 public:
  void add(std::string_view key, ObjectGeneration generation) { held_.insert({key, generation}); }
  void remove(std::string_view key, ObjectGeneration generation) {
    const auto found = held_.find({key, generation});
    if (found != held_.end()) held_.erase(found);
  }
  bool has(std::string_view key, ObjectGeneration generation) const override {
    return held_.contains({key, generation});
  }

 private:
  // An incarnation by the hash of its key. Two that had all of it alike would only keep a leftover
  // of one from being taken over while the other lives.
  struct Held {
    Held(std::string_view key, ObjectGeneration its_generation)
        : key_hash(std::hash<std::string_view>{}(key)), generation(its_generation) {}
    std::size_t key_hash;
    ObjectGeneration generation;
    friend bool operator==(const Held&, const Held&) = default;
  };
  struct Hash {
    std::size_t operator()(const Held& held) const noexcept {
      return held.key_hash ^ held.generation.value;
    }
  };

  std::unordered_multiset<Held, Hash> held_;
};

}  // namespace spotmesh::objects
