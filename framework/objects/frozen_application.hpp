// FrozenApplication: a checked Application in the form that the runtime looks things up in.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <spotmesh/application.hpp>
#include <spotmesh/error.hpp>
#include <spotmesh/ids.hpp>
#include <spotmesh/packet.hpp>
#include <spotmesh/registration.hpp>

#include "objects/foreign_packets.hpp"

namespace spotmesh::objects {

// The handlers of one class, found by packet.
class HandlerTable {
 public:
  HandlerTable() = default;
  // `list` outlives the table.
  explicit HandlerTable(const registration::HandlerList& list);

  // Of a Spot's own or a Session's handlers; null when there is none.
  const registration::Handler* find(registration::Receiver receiver, registration::MessageKind kind,
                                    PacketId packet) const;
  // Of the handlers for Actors: the one for exactly its class, else one for a base of it.
  const registration::Handler* find_for_actor(registration::MessageKind kind, PacketId packet,
                                              registration::ClassTag actor_class,
                                              const Actor& actor) const;
  // Of a Spot's subscriptions to exactly this topic; null when there is none for the packet.
  const registration::Handler* find_subscription(const registration::Topic& topic,
                                                 PacketId packet) const;
  // What the Spot has subscribed to, each topic once, in order.
  std::span<const registration::Topic> topics() const { return topics_; }
  const registration::Timer* find_timer(std::string_view key) const;
  std::span<const registration::Timer> timers() const { return timers_; }

 private:
  static std::uint64_t key_of(registration::Receiver receiver, registration::MessageKind kind,
                              PacketId packet);
  const std::vector<const registration::Handler*>* candidates(std::uint64_t key) const;

  std::span<const registration::Timer> timers_;
  std::vector<registration::Topic> topics_;
  std::unordered_map<std::uint64_t, std::vector<const registration::Handler*>> by_key_;
  bool has_any_for_actors_ = false;  // of a Spot's class: most have none
};

struct ActorType {
  StableType name;
  const registration::ActorType* model;
  HandlerTable handlers;
};

struct SpotType {
  std::string name;  // the stable type; "entry spot" for the Entry Spot
  const registration::SpotType* model;
  HandlerTable handlers;
};

// One mesh as this node takes part in it.
struct MeshTypes {
  std::string name;
  bool is_object_client = false;
  const registration::ObjectServerModel* server = nullptr;  // null: hosts nothing
  std::unique_ptr<SpotType> entry_spot;
  std::map<std::string, ActorType, std::less<>> actors;
  std::map<std::string, SpotType, std::less<>> spots;

  bool has_object_role() const { return server != nullptr || is_object_client; }
  const ActorType* find_actor(std::string_view stable_type) const;
  const SpotType* find_spot(std::string_view stable_type) const;
};

struct StreamType {
  std::string name;
  const registration::SessionType* model;
  HandlerTable handlers;
};

class FrozenApplication {
 public:
  // Throws ConfigurationError, naming the places in the code, before anything of a node exists.
  // `application` outlives this and does not change any more.
  explicit FrozenApplication(const Application& application);

  const std::vector<std::unique_ptr<MeshTypes>>& meshes() const { return meshes_; }
  const std::vector<std::unique_ptr<StreamType>>& streams() const { return streams_; }
  const MeshTypes* find_mesh(std::string_view name) const;
  // The mesh with an object role that a call means: the one it names (NotFound), or the only one
  // (NotConfigured: none, InvalidOperation: several).
  Result<const MeshTypes*> choose_mesh(const std::optional<std::string>& wanted) const;
  // Among packets() and all handlers' packets, or by its id alone; null only when peers have sent
  // more unknown ones than are kept (ForeignPackets).
  const PacketDescriptor* find_packet(PacketId id) const;
  const std::vector<PacketSet>& packet_sets() const { return model_.packets; }

 private:
  void add_mesh(const registration::MeshModel& model);
  void add_stream(const registration::StreamModel& model);
  void add_packets();
  void add_packets_of(const registration::HandlerList& list);
  void add_packet(const PacketDescriptor& packet);

  const registration::ApplicationModel& model_;
  std::vector<std::unique_ptr<MeshTypes>> meshes_;
  std::vector<std::unique_ptr<StreamType>> streams_;
  std::unordered_map<std::uint32_t, const PacketDescriptor*> packets_;
  const std::unique_ptr<ForeignPackets> foreign_packets_ = std::make_unique<ForeignPackets>();
};

}  // namespace spotmesh::objects
