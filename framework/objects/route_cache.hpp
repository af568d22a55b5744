// RouteCache: where objects of other nodes were a short while ago.
#pragma once

#include <cstddef>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <spotmesh/calls.hpp>
#include <spotmesh/ids.hpp>
#include <spotmesh/time.hpp>

#include "location/store.hpp"
#include "mesh/peers.hpp"

namespace spotmesh::objects {

struct Route {
  mesh::Peer owner;
  ObjectGeneration generation;
  location::StoreVersion version;  // of the record it was read from
  Instant valid_until;
};

// Positive only, bounded: past the bound the one learnt longest ago goes. Not thread-safe.
class RouteCache {
 public:
  explicit RouteCache(std::size_t most) : most_(most) {}

  // Nothing once valid_until has come.
  std::optional<Route> find(TargetKind kind, std::string_view id, Instant now);
  // A route of an older version than the one that is known changes nothing.
  void learn(TargetKind kind, std::string_view id, Route route);
  void forget(TargetKind kind, std::string_view id);
  void forget_owner(const NodeRid& node);
  void clear();
  std::size_t size() const { return routes_.size(); }

 private:
  using Key = std::pair<TargetKind, std::string>;
  struct Entry {
    Route route;
    std::list<Key>::iterator age;
  };

  const std::size_t most_;
  std::map<Key, Entry> routes_;
  std::list<Key> by_age_;
};

}  // namespace spotmesh::objects
