#include "objects/frozen_application.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include <spotmesh/error.hpp>

#include "location/records.hpp"

namespace spotmesh::objects {
namespace {

using registration::place_of;

void require_relocation(const std::optional<registration::RelocationPolicy>& policy,
                        std::string_view what, const std::string& name, std::string_view choices,
                        const std::source_location& where) {
  if (policy.has_value()) return;
  throw ConfigurationError(fmt::format("{} type '{}' at {} chooses no relocation policy; call {}",
                                       what, name, place_of(where), choices));
}

void require_factory(const registration::SpotType& type, std::string_view name) {
  if (type.factory) return;
  throw ConfigurationError(
      fmt::format("the Spot class of {} at {} has no constructor (SpotContext&); inherit it (using "
                  "UserSpot::UserSpot) or give create_with",
                  name, place_of(type.where)));
}

void require_factory(const registration::ActorType& type) {
  if (type.factory) return;
  throw ConfigurationError(
      fmt::format("the Actor class of '{}' at {} has no constructor (ActorContext&); inherit it "
                  "(using Actor::Actor) or give create_with",
                  type.stable_type, place_of(type.where)));
}

SpotType freeze(const registration::SpotType& model, std::string name) {
  require_factory(model, name);
  return {std::move(name), &model, HandlerTable(model.handlers)};
}

}  // namespace

HandlerTable::HandlerTable(const registration::HandlerList& list) : timers_(list.timers()) {
  for (const registration::Handler& handler : list.handlers()) {
    by_key_[key_of(handler.receiver, handler.kind, handler.packet->id)].push_back(&handler);
    if (handler.receiver == registration::Receiver::Actor) has_any_for_actors_ = true;
    if (handler.topic.has_value()) topics_.push_back(*handler.topic);
  }
  std::ranges::sort(topics_);
  const auto doubled = std::ranges::unique(topics_);
  topics_.erase(doubled.begin(), doubled.end());
}

std::uint64_t HandlerTable::key_of(registration::Receiver receiver, registration::MessageKind kind,
                                   PacketId packet) {
  return (static_cast<std::uint64_t>(receiver) << 40) | (static_cast<std::uint64_t>(kind) << 32) |
         packet.value;
}

const std::vector<const registration::Handler*>* HandlerTable::candidates(std::uint64_t key) const {
  const auto found = by_key_.find(key);
  return found == by_key_.end() ? nullptr : &found->second;
}

const registration::Handler* HandlerTable::find(registration::Receiver receiver,
                                                registration::MessageKind kind,
                                                PacketId packet) const {
  const auto* found = candidates(key_of(receiver, kind, packet));
  return found == nullptr ? nullptr : found->front();
}

const registration::Handler* HandlerTable::find_for_actor(registration::MessageKind kind,
                                                          PacketId packet,
                                                          registration::ClassTag actor_class,
                                                          const Actor& actor) const {
  if (!has_any_for_actors_) return nullptr;
  const auto* found = candidates(key_of(registration::Receiver::Actor, kind, packet));
  if (found == nullptr) return nullptr;
  for (const registration::Handler* handler : *found) {
    if (handler->actor_class == actor_class) return handler;
  }
  for (const registration::Handler* handler : *found) {
    if (handler->takes_class_of(actor)) return handler;
  }
  return nullptr;
}

const registration::Handler* HandlerTable::find_subscription(const registration::Topic& topic,
                                                             PacketId packet) const {
  const auto* found = candidates(
      key_of(registration::Receiver::Spot, registration::MessageKind::Publication, packet));
  if (found == nullptr) return nullptr;
  const auto handler =
      std::ranges::find_if(*found, [&](const auto* each) { return each->topic == topic; });
  return handler == found->end() ? nullptr : *handler;
}

const registration::Timer* HandlerTable::find_timer(std::string_view key) const {
  const auto found = std::ranges::find(timers_, key, &registration::Timer::key);
  return found == timers_.end() ? nullptr : &*found;
}

const ActorType* MeshTypes::find_actor(std::string_view stable_type) const {
  const auto found = actors.find(stable_type);
  return found == actors.end() ? nullptr : &found->second;
}

const SpotType* MeshTypes::find_spot(std::string_view stable_type) const {
  const auto found = spots.find(stable_type);
  return found == spots.end() ? nullptr : &found->second;
}

FrozenApplication::FrozenApplication(const Application& application) : model_(application.model()) {
  if (model_.meshes.size() > location::max_meshes_per_node) {
    throw ConfigurationError(fmt::format("the application takes part in {} meshes; {} are allowed",
                                         model_.meshes.size(), location::max_meshes_per_node));
  }
  for (const auto& mesh : model_.meshes) add_mesh(*mesh);
  for (const auto& stream : model_.streams) add_stream(*stream);
  add_packets();
}

const MeshTypes* FrozenApplication::find_mesh(std::string_view name) const {
  const auto found =
      std::ranges::find_if(meshes_, [&](const auto& mesh) { return mesh->name == name; });
  return found == meshes_.end() ? nullptr : found->get();
}

Result<const MeshTypes*> FrozenApplication::choose_mesh(
    const std::optional<std::string>& wanted) const {
  if (wanted.has_value()) {
    const MeshTypes* mesh = find_mesh(*wanted);
    if (mesh != nullptr && mesh->has_object_role()) return mesh;
    return fail(
        Error::not_found(fmt::format("this process takes no part in a mesh '{}'", *wanted)));
  }
  const MeshTypes* only = nullptr;
  for (const auto& mesh : meshes_) {
    if (!mesh->has_object_role()) continue;
    if (only != nullptr) {
      return fail(Error::invalid_operation(
          fmt::format("this process takes part in several meshes ('{}', '{}'): name one with "
                      "in_mesh",
                      only->name, mesh->name)));
    }
    only = mesh.get();
  }
  if (only != nullptr) return only;
  return fail(Error::not_configured(
      "this process has no mesh with an object role: call object_server() or object_client()"));
}

const PacketDescriptor* FrozenApplication::find_packet(PacketId id) const {
  const auto found = packets_.find(id.value);
  return found == packets_.end() ? foreign_packets_->find(id) : found->second;
}

void FrozenApplication::add_mesh(const registration::MeshModel& model) {
  auto mesh = std::make_unique<MeshTypes>();
  mesh->name = model.name;
  mesh->is_object_client = model.is_object_client;
  if (model.server.has_value()) {
    const registration::ObjectServerModel& server = *model.server;
    mesh->server = &server;
    if (!server.entry_spot.has_value() && !server.actors.empty()) {
      throw ConfigurationError(fmt::format(
          "mesh '{}' at {} has Actor types but no Entry Spot, where every Actor starts; call "
          "entry_spot<S>() on its object server",
          model.name, place_of(model.where)));
    }
    if (server.entry_spot.has_value()) {
      mesh->entry_spot = std::make_unique<SpotType>(freeze(*server.entry_spot, "entry spot"));
    }
    for (const registration::ActorType& type : server.actors) {
      require_relocation(
          type.relocation, "Actor", type.stable_type,
          "disable_relocation, recreate_on_relocation or preserve_state_with<Adapter> on its "
          "factory",
          type.where);
      require_factory(type);
      mesh->actors.emplace(type.stable_type, ActorType{*StableType::parse(type.stable_type), &type,
                                                       HandlerTable(type.handlers)});
    }
    for (const registration::SpotType& type : server.spots) {
      require_relocation(type.relocation, "Spot", type.stable_type,
                         "disable_relocation on its factory", type.where);
      mesh->spots.emplace(type.stable_type, freeze(type, type.stable_type));
    }
  }
  meshes_.push_back(std::move(mesh));
}

void FrozenApplication::add_stream(const registration::StreamModel& model) {
  if (!model.session.has_value()) {
    throw ConfigurationError(
        fmt::format("stream '{}' at {} has no Session class; call session<S>() on it", model.name,
                    place_of(model.where)));
  }
  streams_.push_back(std::make_unique<StreamType>(
      StreamType{model.name, &*model.session, HandlerTable(model.session->handlers)}));
}

void FrozenApplication::add_packets() {
  for (const PacketSet& set : model_.packets) {
    for (const PacketDescriptor* packet : set) add_packet(*packet);
  }
  for (const auto& mesh : model_.meshes) {
    if (!mesh->server.has_value()) continue;
    if (mesh->server->entry_spot.has_value()) add_packets_of(mesh->server->entry_spot->handlers);
    for (const auto& type : mesh->server->actors) add_packets_of(type.handlers);
    for (const auto& type : mesh->server->spots) add_packets_of(type.handlers);
  }
  for (const auto& stream : model_.streams) {
    if (stream->session.has_value()) add_packets_of(stream->session->handlers);
  }
}

void FrozenApplication::add_packets_of(const registration::HandlerList& list) {
  for (const registration::Handler& handler : list.handlers()) add_packet(*handler.packet);
}

void FrozenApplication::add_packet(const PacketDescriptor& packet) {
  const auto [known, is_new] = packets_.emplace(packet.id.value, &packet);
  if (is_new || known->second->name == packet.name) return;
  throw ConfigurationError(
      fmt::format("packets '{}' and '{}' have the same id {:08x}; rename one of them",
                  known->second->name, packet.name, packet.id.value));
}

}  // namespace spotmesh::objects
