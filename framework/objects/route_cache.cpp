#include "objects/route_cache.hpp"

namespace spotmesh::objects {

std::optional<Route> RouteCache::find(TargetKind kind, std::string_view id, Instant now) {
  const auto found = routes_.find(Key(kind, id));
  if (found == routes_.end()) return {};
  if (now < found->second.route.valid_until) return found->second.route;
  by_age_.erase(found->second.age);
  routes_.erase(found);
  return {};
}

void RouteCache::learn(TargetKind kind, std::string_view id, Route route) {
  if (most_ == 0) return;
  const Key key(kind, id);
  const auto known = routes_.find(key);
  if (known != routes_.end()) {
    const location::StoreVersion& version = known->second.route.version;
    const bool is_older =
        version.epoch == route.version.epoch && version.counter > route.version.counter;
    if (is_older) return;
    forget(kind, id);
  }
  if (routes_.size() >= most_) {
    routes_.erase(by_age_.front());
    by_age_.pop_front();
  }
  const auto age = by_age_.insert(by_age_.end(), key);
  routes_.emplace(key, Entry{std::move(route), age});
}

void RouteCache::forget(TargetKind kind, std::string_view id) {
  const auto found = routes_.find(Key(kind, id));
  if (found == routes_.end()) return;
  by_age_.erase(found->second.age);
  routes_.erase(found);
}

void RouteCache::forget_owner(const NodeRid& node) {
  for (auto at = routes_.begin(); at != routes_.end();) {
    if (at->second.route.owner.node == node) {
      by_age_.erase(at->second.age);
      at = routes_.erase(at);
    } else {
      ++at;
    }
  }
}

void RouteCache::clear() {
  routes_.clear();
  by_age_.clear();
}

}  // namespace spotmesh::objects
