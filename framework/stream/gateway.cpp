#include "stream/gateway.hpp"

#include <utility>

#include <fmt/format.h>

#include <spotmesh/error.hpp>
#include <spotmesh/registration.hpp>

namespace spotmesh::stream {
namespace {

wire::PacketCatalog catalog_of(const objects::FrozenApplication& application,
                               const objects::StreamType& type) {
  wire::PacketCatalog catalog;
  for (const PacketSet& packets : application.packet_sets()) catalog.add(packets);
  for (const registration::Handler& handler : type.model->handlers.handlers()) {
    if (catalog.find(handler.packet->id) != nullptr) continue;
    throw ConfigurationError(fmt::format(
        "stream '{}' has a session handler for packet '{}' at {}, but clients cannot send it: give "
        "the packets() of its schema to Application::packets",
        type.name, handler.packet->name, registration::place_of(handler.where)));
  }
  return catalog;
}

}  // namespace

Gateway::Gateway(const objects::FrozenApplication& application, const objects::StreamType& its_type,
                 objects::NodeIdentity its_identity, const StreamSeams& its_seams,
                 MakeCaller its_make_caller, const StreamOptions& its_options)
    : type(its_type),
      identity(std::move(its_identity)),
      seams(its_seams),
      make_caller(std::move(its_make_caller)),
      options(its_options),
      catalog(catalog_of(application, its_type)) {}

objects::BindingIdentity Gateway::next_binding(const SessionId& session) {
  return {.session = session,
          .session_owner = identity.lifecycle,
          .session_node = identity.rid,
          .generation = binding_generation_.fetch_add(1) + 1};
}

runtime::Ref<runtime::Gate> Gateway::new_gate() const {
  return runtime::make_ref<runtime::Gate>(runtime::GateEnvironment{.clock = seams.clock,
                                                                   .scheduler = seams.scheduler,
                                                                   .admission = nullptr,
                                                                   .observer = seams.observer});
}

}  // namespace spotmesh::stream
