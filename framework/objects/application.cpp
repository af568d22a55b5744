#include <spotmesh/application.hpp>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include <fmt/format.h>

#include <spotmesh/error.hpp>
#include <spotmesh/ids.hpp>

namespace spotmesh {
namespace {

using registration::place_of;

void require_name(std::string_view name, std::string_view what, const std::source_location& where) {
  if (auto valid = validate_prefix(name); !valid) {
    throw ConfigurationError(
        fmt::format("the name of the {} at {} must be 1 to 64 characters of A-Z a-z 0-9 . _ - but "
                    "is '{}'",
                    what, place_of(where), name));
  }
}

void require_stable_type(const std::string& name, std::string_view what,
                         const std::source_location& where) {
  if (auto valid = StableType::parse(name); !valid) {
    throw ConfigurationError(fmt::format("the {} at {} has an unusable name: {}", what,
                                         place_of(where), valid.error().message()));
  }
}

template <typename Type>
void require_new(const std::vector<Type>& types, const Type& added, std::string_view what) {
  const auto earlier = std::ranges::find_if(
      types, [&](const Type& other) { return other.stable_type == added.stable_type; });
  if (earlier != types.end()) {
    throw ConfigurationError(
        fmt::format("{} type '{}' is registered twice: at {} and at {}; rename one", what,
                    added.stable_type, place_of(earlier->where), place_of(added.where)));
  }
}

}  // namespace

void ObjectServer::set_entry_spot(registration::SpotType type) {
  if (model_.entry_spot.has_value()) {
    throw ConfigurationError(
        fmt::format("the mesh has two Entry Spots: at {} and at {}; an object server has one",
                    place_of(model_.entry_spot->where), place_of(type.where)));
  }
  model_.entry_spot = std::move(type);
}

void ObjectServer::add_actor_type(registration::ActorType type) {
  require_stable_type(type.stable_type, "Actor type", type.where);
  require_new(model_.actors, type, "Actor");
  model_.actors.push_back(std::move(type));
}

void ObjectServer::add_spot_type(registration::SpotType type) {
  require_stable_type(type.stable_type, "Spot type", type.where);
  require_new(model_.spots, type, "Spot");
  model_.spots.push_back(std::move(type));
}

ObjectServer& ObjectServer::placement_weight(std::uint32_t weight) {
  if (weight > limits::max_placement_weight) {
    throw ConfigurationError(fmt::format("a placement weight is 0 to {} but is {}",
                                         limits::max_placement_weight, weight));
  }
  model_.placement_weight = weight;
  return *this;
}

ObjectServer& ObjectServer::actor_limit(std::uint32_t most) {
  model_.actor_limit = most;
  return *this;
}

ObjectServer& ObjectServer::spot_limit(std::uint32_t most) {
  model_.spot_limit = most;
  return *this;
}

ObjectServer& ObjectServer::pending_limit(std::uint32_t most) {
  if (most == 0) throw ConfigurationError("pending_limit must be at least 1");
  model_.pending_limit = most;
  return *this;
}

ObjectServer& Mesh::object_server() {
  if (!server_) {
    model_.server.emplace();
    server_ = std::make_unique<ObjectServer>(*model_.server);
  }
  return *server_;
}

Mesh& Mesh::object_client() {
  model_.is_object_client = true;
  return *this;
}

void Stream::set_session(registration::SessionType type) {
  if (model_.session.has_value()) {
    throw ConfigurationError(
        fmt::format("stream '{}' at {} is given two Session classes; it has one", model_.name,
                    place_of(model_.where)));
  }
  if (!type.factory) {
    throw ConfigurationError(fmt::format(
        "the Session class of stream '{}' at {} has no constructor (SessionContext&); inherit it "
        "(using Session::Session) or give create_with",
        model_.name, place_of(model_.where)));
  }
  model_.session = std::move(type);
}

Application::Application() = default;
Application::~Application() = default;

Application& Application::packets(PacketSet packets) {
  model_.packets.push_back(packets);
  return *this;
}

Mesh& Application::mesh(std::string_view name, std::source_location where) {
  for (std::size_t i = 0; i < meshes_.size(); ++i) {
    if (model_.meshes[i]->name == name) return *meshes_[i];
  }
  require_name(name, "mesh", where);
  model_.meshes.push_back(std::make_unique<registration::MeshModel>(
      registration::MeshModel{.name = std::string(name), .where = where}));
  meshes_.push_back(std::make_unique<Mesh>(*model_.meshes.back()));
  return *meshes_.back();
}

Stream& Application::stream(std::string_view name, std::source_location where) {
  for (std::size_t i = 0; i < streams_.size(); ++i) {
    if (model_.streams[i]->name == name) return *streams_[i];
  }
  require_name(name, "stream", where);
  model_.streams.push_back(std::make_unique<registration::StreamModel>(
      registration::StreamModel{.name = std::string(name), .where = where}));
  streams_.push_back(std::make_unique<Stream>(*model_.streams.back()));
  return *streams_.back();
}

}  // namespace spotmesh
