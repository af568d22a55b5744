// The order of generated structs, and which members must be boxed.
#pragma once

#include <map>
#include <vector>

#include "packetc/schema.hpp"

namespace spotmesh::packetc {

// Tables may hold each other in circles; C++ structs may not. An optional member that closes a
// circle lives on the heap (spotmesh::Boxed); every other member is held by value, and then its
// type comes first.
class CppOrder {
 public:
  explicit CppOrder(const Schema& schema);

  // The schema's own tables and structs, each after all that it holds by value.
  const std::vector<const flatbuffers::StructDef*>& objects() const { return objects_; }

  // Whether an optional table member, or an alternative of a union, closes a circle.
  bool is_boxed(const flatbuffers::Definition& holder, const flatbuffers::StructDef& held) const;

 private:
  std::vector<const flatbuffers::StructDef*> objects_;
  // Types that can reach each other have the same number.
  std::map<const flatbuffers::Definition*, int> circles_;
};

// Refuses a circle of required members: no value of such a table could end.
Checked<void> check_order(const Schema& schema);

}  // namespace spotmesh::packetc
