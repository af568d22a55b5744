// Holdings: which incarnations this node has or has pending, by store key.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>

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
  void add(std::string key, ObjectGeneration generation) {
    by_key_.emplace(std::move(key), generation);
  }
  void remove(std::string_view key, ObjectGeneration generation) {
    const auto found = find(key, generation);
    if (found != by_key_.end()) by_key_.erase(found);
  }
  bool has(std::string_view key, ObjectGeneration generation) const override {
    return find(key, generation) != by_key_.end();
  }

 private:
  using ByKey = std::multimap<std::string, ObjectGeneration, std::less<>>;
  ByKey::const_iterator find(std::string_view key, ObjectGeneration generation) const {
    const auto [first, last] = by_key_.equal_range(key);
    const auto found =
        std::find_if(first, last, [&](const auto& held) { return held.second == generation; });
    return found == last ? by_key_.end() : found;
  }

  ByKey by_key_;
};

}  // namespace spotmesh::objects
