// What registrations become: plain records without the game's types. The templates of handlers.hpp
// and application.hpp fill them in, the runtime reads them; a game uses neither.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <source_location>
#include <string>
#include <string_view>
#include <vector>

#include <spotmesh/actor.hpp>
#include <spotmesh/limits.hpp>
#include <spotmesh/message.hpp>
#include <spotmesh/message_context.hpp>
#include <spotmesh/packet.hpp>
#include <spotmesh/session.hpp>
#include <spotmesh/spot.hpp>
#include <spotmesh/task.hpp>
#include <spotmesh/timer.hpp>

namespace spotmesh::registration {

// Tells classes apart without run-time type information: one address per class.
using ClassTag = const void*;
template <typename T>
inline constexpr char class_mark = 0;
template <typename T>
constexpr ClassTag class_tag() {
  return &class_mark<T>;
}

enum class MessageKind : std::uint8_t { Send, Request, Publication };
std::string_view to_string(MessageKind kind);

// What a publication is about; both are texts as StringId takes them.
struct Topic {
  std::string channel;
  std::string name;
  friend auto operator<=>(const Topic&, const Topic&) = default;
};

// Whose mailbox a handler's messages pass.
enum class Receiver : std::uint8_t { Actor, Spot, Session };

// One message on its way through a handler. Outlives the Task that `invoke` returned.
struct Invocation {
  Actor* actor = nullptr;
  Spot* spot = nullptr;
  Session* session = nullptr;
  const MessageContext* context = nullptr;
  // Set by the handler: its reply (requests), or why there is none.
  std::optional<Message> reply;
  std::optional<Error> error;
  bool is_undecodable = false;  // `error` says that the payload did not decode; no handler ran
};

// Decodes, calls the handler and fills in the invocation. An empty Task when it has finished; else
// the coroutine to drive. May throw what the handler throws.
using Invoke = std::function<Task<void>(Invocation&)>;

struct Handler {
  Receiver receiver = Receiver::Actor;
  MessageKind kind = MessageKind::Send;
  const PacketDescriptor* packet = nullptr;
  std::optional<Topic> topic;  // of MessageKind::Publication
  // For Receiver::Actor: the class it takes, and whether an Actor is of it.
  ClassTag actor_class = nullptr;
  bool (*takes_class_of)(const Actor&) = nullptr;
  Invoke invoke;
  std::source_location where;
};

struct TimerInvocation {
  Actor* actor = nullptr;
  Spot* spot = nullptr;
  TimerTick tick;
  std::optional<Error> error;
};

struct Timer {
  std::string key;
  std::optional<Duration> period;  // set: started with its owner
  OverrunPolicy overrun = OverrunPolicy::skip_late_ticks();
  std::function<Task<void>(TimerInvocation&)> invoke;
  std::source_location where;
};

// The handlers() of one class. The same (receiver, Actor class, kind, packet, topic) or timer key
// twice throws ConfigurationError and names both places; so does a topic that is none.
class HandlerList {
 public:
  void add(Handler handler);
  void add(Timer timer);
  const std::vector<Handler>& handlers() const { return handlers_; }
  const std::vector<Timer>& timers() const { return timers_; }

 private:
  std::vector<Handler> handlers_;
  std::vector<Timer> timers_;
};

enum class RelocationPolicy : std::uint8_t { Disabled, Recreate, PreserveState };

// Captures and restores an Actor's state as bytes that only the game understands.
class StateAdapter {
 public:
  virtual ~StateAdapter() = default;
  virtual Task<Bytes> capture(Actor& actor) = 0;
  virtual Task<void> restore(Actor& actor, Bytes state) = 0;
};

struct ActorType {
  std::string stable_type;
  ClassTag actor_class = nullptr;
  std::function<Task<std::unique_ptr<Actor>>(ActorContext&)> factory;
  std::optional<RelocationPolicy> relocation;
  std::shared_ptr<StateAdapter> state_adapter;       // of PreserveState
  std::shared_ptr<StateAdapter> checkpoint_adapter;  // null: never checkpointed
  Duration checkpoint_interval{};
  HandlerList handlers;
  std::source_location where;
};

struct SpotType {
  std::string stable_type;  // of an Entry Spot: empty
  ClassTag actor_class = nullptr;
  std::function<std::unique_ptr<Spot>(SpotContext&)> factory;
  std::optional<RelocationPolicy> relocation;
  std::uint32_t limit = 0;  // living and pending Spots of this type per node; 0: none
  bool shares_gate_with_members = false;
  bool has_gate_per_timer = false;
  HandlerList handlers;
  std::source_location where;
};

struct ObjectServerModel {
  std::optional<SpotType> entry_spot;
  std::vector<ActorType> actors;
  std::vector<SpotType> spots;
  std::uint32_t placement_weight = limits::default_placement_weight;
  std::uint32_t actor_limit = 0;  // living and pending; 0: none
  std::uint32_t spot_limit = 0;
  std::uint32_t pending_limit = limits::pending_activations;
};

struct MeshModel {
  std::string name;
  std::optional<ObjectServerModel> server;
  bool is_object_client = false;
  std::source_location where;
};

struct SessionType {
  std::function<std::unique_ptr<Session>(SessionContext&)> factory;
  HandlerList handlers;
};

struct StreamModel {
  std::string name;
  std::optional<SessionType> session;
  std::source_location where;
};

struct ApplicationModel {
  std::vector<PacketSet> packets;
  std::vector<std::unique_ptr<MeshModel>> meshes;
  std::vector<std::unique_ptr<StreamModel>> streams;
};

// "server/game.cpp:31", for messages about registrations.
std::string place_of(const std::source_location& where);

}  // namespace spotmesh::registration
