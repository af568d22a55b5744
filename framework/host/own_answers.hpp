// OwnAnswers: what a node tells operators of itself alone, whichever node they have asked.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <spotmesh/error.hpp>
#include <spotmesh/time.hpp>

#include "base/log.hpp"
#include "host/admin_target.hpp"
#include "host/event_ring.hpp"
#include "node/node.hpp"
#include "objects/inquiries.hpp"

namespace spotmesh::host {

// All of it outlives the answers; the node also outlives whatever was asked.
struct OwnSeams {
  node::Node& node;
  LogSink& log;
  EventRing& events;
  // The node shall stop, with this deadline or the configured one. Called on any thread, as often
  // as somebody asks; it only hands over.
  std::function<void(std::optional<Duration> deadline)> shut_down;
};

// Questions are targets of the admin endpoint, answers are rows of JSON. The table is
// framework/docs/observability.md.
class OwnAnswers {
 public:
  using Done = objects::Inquiries::Done;

  explicit OwnAnswers(OwnSeams seams) : seams_(std::move(seams)) {}

  // Any thread. `done` is called once, on the node's strand, unless the node ends before. NotFound:
  // there is nothing at that path, or nobody of that id lives here. InvalidOperation: a parameter
  // is not what it should be.
  void answer(const objects::Inquiry& inquiry, Instant deadline, Done done);

  // Of an answer to /v1/events, at most.
  static constexpr std::size_t events_most = 256;

 private:
  // What a question is answered with, and by when.
  struct Asked {
    AdminTarget target;
    std::string client;
    Instant deadline;
    Done done;
  };
  using AskedRef = std::shared_ptr<Asked>;
  using Serve = void (OwnAnswers::*)(const AskedRef&);
  static Serve route_of(const AdminTarget& target);

  void refuse(const AskedRef& asked, Error error) const;
  void tell_self(const AskedRef& asked);
  void tell_actors(const AskedRef& asked);
  void tell_spots(const AskedRef& asked);
  void tell_sessions(const AskedRef& asked);
  void tell_queues(const AskedRef& asked);
  void tell_events(const AskedRef& asked);
  void tell_why(const AskedRef& asked);
  void end_actor(const AskedRef& asked);
  void shut_down(const AskedRef& asked);

  const OwnSeams seams_;
};

// What was said of a shutdown's deadline: nothing, or at most ten minutes. InvalidOperation.
Result<std::optional<Duration>> stop_deadline(const AdminTarget& target);

}  // namespace spotmesh::host
