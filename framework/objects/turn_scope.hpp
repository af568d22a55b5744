// ObjectScope: which callback a turn is, what may be called in it, and what it leaves to be done
// when it has ended.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <spotmesh/error.hpp>
#include <spotmesh/ids.hpp>
#include <spotmesh/message.hpp>
#include <spotmesh/time.hpp>

#include "runtime/ref_counted.hpp"
#include "runtime/turn.hpp"

namespace spotmesh::objects {

class ActorCell;
class SpotCell;

// A Join that defer() has registered: the barrier stands, nothing has started.
struct DeferredJoin {
  OperationId operation;
  runtime::Ref<ActorCell> actor;
  std::optional<SpotId> spot;  // empty: the Entry Spot
  Message request;
  Instant deadline;
};

class ObjectScope : public runtime::TurnScope {
 public:
  enum class Kind {
    Handler,   // of a message or timer: Joins may be registered
    Lifecycle  // everything else
  };

  // `what` is a literal or outlives the turn. `actor`: whose turn it is, or which the callback was
  // given. `spot`: the Spot whose gate or member this turn belongs to.
  ObjectScope(Kind kind, std::string_view what, ActorCell* actor, SpotCell* spot)
      : kind_(kind), what_(what), actor_(actor), spot_(spot) {}

  // Of the present turn of this thread; null when there is none.
  static ObjectScope* current();

  Kind kind() const { return kind_; }
  std::string_view what() const { return what_; }
  ActorCell* actor() const { return actor_; }
  SpotCell* spot() const { return spot_; }

  const std::vector<DeferredJoin>& joins() const { return joins_; }
  std::size_t join_bytes() const { return join_bytes_; }
  void add_join(DeferredJoin join);
  bool has_barrier_on(const ActorCell& actor) const;
  // Done when the turn has ended well.
  void add_after_turn(std::function<void()> job) { after_turn_.push_back(std::move(job)); }

  // Called once, when the turn's callback has ended.
  void end(bool is_normal);

 private:
  Kind kind_;
  std::string_view what_;
  ActorCell* actor_;
  SpotCell* spot_;
  std::vector<DeferredJoin> joins_;
  std::size_t join_bytes_ = 0;
  std::vector<std::function<void()>> after_turn_;
};

// What a handler or callback threw, as an InternalFailure that names it.
Error error_of(std::exception_ptr failure, std::string_view what);

}  // namespace spotmesh::objects
