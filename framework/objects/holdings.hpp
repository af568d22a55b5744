// Holdings: which incarnations this node has or has pending, by store key.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include <spotmesh/ids.hpp>

#include "location/authority.hpp"

namespace spotmesh::objects {

// Strand only.
class Holdings final : public location::LocalObjects {
 public:
  void add(std::string key, ObjectGeneration generation) {
    by_key_.insert_or_assign(std::move(key), generation);
  }
  void remove(std::string_view key, ObjectGeneration generation) {
    const auto found = by_key_.find(key);
    if (found != by_key_.end() && found->second == generation) by_key_.erase(found);
  }
  bool has(std::string_view key, ObjectGeneration generation) const override {
    const auto found = by_key_.find(key);
    return found != by_key_.end() && found->second == generation;
  }

 private:
  std::map<std::string, ObjectGeneration, std::less<>> by_key_;
};

}  // namespace spotmesh::objects
