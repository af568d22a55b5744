// Destructions: ending Actors and User Spots of this node.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <spotmesh/closing.hpp>
#include <spotmesh/error.hpp>
#include <spotmesh/ids.hpp>
#include <spotmesh/time.hpp>

#include "location/find.hpp"
#include "location/remove.hpp"
#include "objects/actor_cell.hpp"
#include "objects/spot_cell.hpp"

namespace spotmesh::objects {

class Core;

// Once begun, the end of an object goes through: what the store cannot do now is tried again until
// it is done or this node's lease is lost; whoever asked gets the error meanwhile. Strand only.
class Destructions {
 public:
  // True: ended by this call; false: was gone already, or (close) still has members.
  using Done = std::function<void(Result<bool>)>;
  // What another node asks for ends here or nowhere: nothing is handed on from owner to owner.
  enum class Reach { Anywhere, ThisNode };

  explicit Destructions(Core& core) : core_(core) {}

  void destroy(const ActorRef& ref, Instant deadline, Done done, Reach reach = Reach::Anywhere);
  // Once no Join of the Actor is pending; nobody waits for the outcome.
  void destroy_later(ActorCell& actor);
  void after_transition(ActorCell& actor);
  void close(const SpotRef& ref, Instant deadline, Done done, Reach reach = Reach::Anywhere);
  // close_when_empty: from now on, and whenever a member has left.
  void close_if_empty(SpotCell& spot);
  // The node stops: on_closing runs, the record stays for stop() to remove.
  void run_closing(SpotCell& spot, ClosingReason reason, Instant deadline,
                   std::function<void()> done);

  // This node has stepped down from it: who waits for its end gets `reason`.
  void stepped_down(const ActorCell& actor, const Error& reason);
  void stepped_down(const SpotCell& spot, const Error& reason);

  std::size_t under_way() const { return waiting_actors_.size() + waiting_spots_.size(); }

 private:
  using ActorPtr = runtime::Ref<ActorCell>;
  using SpotPtr = runtime::Ref<SpotCell>;

  // What this node does not have.
  void end_elsewhere(TargetKind kind, const std::string& id, ObjectGeneration generation,
                     Instant deadline, Reach reach, Done done);
  void destroy_here(const ActorPtr& actor, Instant deadline, Done done);
  void begin_destroy(const ActorPtr& actor, Instant deadline);
  void on_claimed(const ActorPtr& actor, Instant deadline);
  void remove_record(const ActorPtr& actor, Instant deadline);
  void on_removed(const ActorPtr& actor, const location::RemoveOutcome& outcome);

  void begin_close(const SpotPtr& spot, ClosingReason reason, Instant deadline);
  void remove_record(const SpotPtr& spot, Instant deadline);
  void on_removed(const SpotPtr& spot, const location::RemoveOutcome& outcome);

  // What the end of its record means for those who wait.
  static Result<bool> answer_to(const location::RemoveOutcome& outcome);
  // Whether the Actor or Spot lives here no more, so that what it had is freed.
  static bool is_over(const location::RemoveOutcome& outcome);
  // In the quiet time of a new epoch nothing is ended: the store may have forgotten who lives.
  std::optional<Error> quiet_time(const std::string& what) const;
  Instant next_deadline() const;
  // Answers with DeadlineExceeded at the deadline if nothing has answered before.
  Done bounded(std::string what, Instant deadline, Done done);

  Core& core_;
  // Whom to answer when the object has ended.
  std::map<const ActorCell*, std::vector<Done>> waiting_actors_;
  std::map<const SpotCell*, std::vector<Done>> waiting_spots_;
};

}  // namespace spotmesh::objects
