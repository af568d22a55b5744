// Gateway: what all sessions of one stream share.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <spotmesh/ids.hpp>
#include <spotmesh/logger.hpp>

#include "base/log.hpp"
#include "base/random.hpp"
#include "objects/caller.hpp"
#include "objects/frozen_application.hpp"
#include "objects/seams.hpp"
#include "objects/session_routes.hpp"
#include "runtime/clock.hpp"
#include "runtime/gate.hpp"
#include "runtime/scheduler.hpp"
#include "runtime/strand.hpp"
#include "runtime/timers.hpp"
#include "stream/address_counts.hpp"
#include "stream/push_encodings.hpp"
#include "stream/session_directory.hpp"
#include "stream/stream_metrics.hpp"
#include "stream/stream_options.hpp"
#include "wire/close_codes.hpp"
#include "wire/packet_catalog.hpp"

namespace spotmesh::stream {

class Handshakes;

inline constexpr const char* stopping_reason = "this server is shutting down";

// All of it outlives every session, and so the StreamServer.
struct StreamSeams {
  runtime::Clock& clock;
  runtime::Scheduler& scheduler;
  runtime::Timers& timers;
  runtime::Strand& strand;  // for what a session has to do off its gate; not closed before the end
  Random& random;
  LogSink& log;
  EventSink& events;
  objects::Bindings& bindings;
  runtime::TurnObserver* observer = nullptr;  // of session turns
  runtime::Faults* faults = nullptr;          // null in production; "session.reply-twice"
};

// On whose behalf the calls of a session's context are made: ObjectsNode::new_session_caller.
using MakeCaller = std::function<std::unique_ptr<objects::Caller>(const SessionId& session)>;

// Sessions hold on to it, so that what comes late for one finds everything in place.
class Gateway {
 public:
  // Throws ConfigurationError when a session handler's packet is in no schema that the application
  // names.
  Gateway(const objects::FrozenApplication& application, const objects::StreamType& type,
          objects::NodeIdentity identity, const StreamSeams& seams, MakeCaller make_caller,
          const StreamOptions& options);
  ~Gateway();

  const objects::StreamType& type;
  const objects::NodeIdentity identity;
  const StreamSeams seams;
  const MakeCaller make_caller;
  const StreamOptions options;
  const wire::PacketCatalog catalog;

  StreamMetrics metrics;
  PushEncodings encodings{metrics.pushes_encoded};
  SessionDirectory sessions;
  const std::unique_ptr<Handshakes> handshakes;
  AddressCounts addresses;
  std::atomic<bool> is_stopping{false};

  // What a client may miss of that packet, which the application names.
  wire::Delivery delivery_of(const Message& message) const;
  // Whether there may be another session. Counts and logs what there is no room for.
  bool has_room();
  // What a client is told for which there is none.
  wire::WebSocketClose no_room() const;
  // A place for one more connection of that address, nothing when it has as many as it may. Counts
  // and logs what is refused.
  std::optional<AddressCounts::Place> place_for(std::string_view address);
  // What a client is told for which there is none.
  wire::WebSocketClose too_many_of_address() const;
  // The identity of a new binding of that session.
  objects::BindingIdentity next_binding(const SessionId& session);
  // Whether the binding names a session of this run of the node.
  bool owns(const objects::BindingIdentity& binding) const {
    return binding.session_owner == identity.lifecycle;
  }
  runtime::Ref<runtime::Gate> new_gate() const;

 private:
  std::atomic<std::uint64_t> binding_generation_{0};
  std::atomic<bool> is_full_{false};  // as the last client that came found it
};

}  // namespace spotmesh::stream
