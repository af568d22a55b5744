// BoundActors: the bindings of one session.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <spotmesh/error.hpp>
#include <spotmesh/ids.hpp>

#include "base/small_mutex.hpp"
#include "objects/session_routes.hpp"

namespace spotmesh::stream {

struct Binding {
  ActorRef actor;
  objects::BindingIdentity identity;
};
using BindingHandle = std::shared_ptr<const Binding>;

// A binding is Pending from the moment it is asked for, since the Actor may push before the answer
// is here, and Bound from the answer on. Any thread.
class BoundActors {
 public:
  explicit BoundActors(std::size_t most) : most_(most) {}

  // CapacityExceeded when there are as many as there may be; Unavailable when the session has
  // ended.
  Result<void> begin(const ActorRef& actor, const objects::BindingIdentity& identity);
  // The answer to begin(). False: the session has ended meanwhile, and the binding must end too.
  bool finish(std::uint64_t generation, bool is_bound);
  // Whether exactly this incarnation is bound.
  bool has(const ActorRef& actor) const;
  // Whether a binding of that generation is pending or bound, and the session has not ended.
  bool has(std::uint64_t generation) const;
  // Null when that Actor is not bound.
  BindingHandle find(const ActorId& actor) const;
  // The one bound Actor; null when there is none, or more than one.
  BindingHandle only_one() const;
  std::size_t count() const;
  // Whether no binding was ever asked for, as of most sessions that have no Actor. Takes no lock.
  bool is_unused() const { return is_unused_.load(std::memory_order_relaxed); }
  // Takes it out, pending or bound; null when it is not there, or the session has ended.
  BindingHandle remove(std::uint64_t generation);
  // In the order in which they were bound.
  std::vector<ActorRef> actors() const;

  // Nothing can be bound from now on. The bindings that are to end, once; their refs stay visible
  // in actors().
  std::vector<BindingHandle> end();

 private:
  struct Entry {
    BindingHandle binding;
    bool is_pending = true;
  };

  const std::size_t most_;
  mutable SmallMutex mutex_;
  std::vector<Entry> entries_;
  std::atomic<bool> is_unused_{true};
  bool has_ended_ = false;
};

}  // namespace spotmesh::stream
