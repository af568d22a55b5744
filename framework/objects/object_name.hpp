// ObjectName: an Actor or Spot by its id.
#pragma once

#include <string>
#include <string_view>

#include <spotmesh/calls.hpp>

namespace spotmesh::objects {

struct ObjectName {
  TargetKind kind = TargetKind::Actor;
  std::string id;
  friend bool operator==(const ObjectName&, const ObjectName&) = default;
};

// "Actor 'x'", for messages.
std::string target_name(TargetKind kind, std::string_view id);
inline std::string to_string(const ObjectName& name) { return target_name(name.kind, name.id); }

}  // namespace spotmesh::objects
