#include "stream/gateway.hpp"

#include <utility>

#include <fmt/format.h>

#include <spotmesh/error.hpp>
#include <spotmesh/registration.hpp>

#include "stream/handshake.hpp"

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
      catalog(catalog_of(application, its_type)),
      handshakes(std::make_unique<Handshakes>(its_options.handshakes)),
      addresses(its_options.connections_per_address, its_options.proxies) {}

Gateway::~Gateway() = default;

// Logged once for the first client that finds no room, and once for the first that finds some
// again.
bool Gateway::has_room() {
  const bool is_full = sessions.size() >= options.sessions;
  if (is_full) metrics.sessions_refused.add();
  if (is_full_.exchange(is_full) == is_full) return !is_full;
  seams.log.write(is_full ? LogLevel::Warning : LogLevel::Info, "session",
                  is_full ? "clients are turned away: there is no room for another session"
                          : "clients are taken again",
                  {{"stream.sessions", std::to_string(options.sessions)}});
  return !is_full;
}

wire::WebSocketClose Gateway::no_room() const {
  return {wire::CloseCode::Overloaded,
          fmt::format("this server has {} sessions, which is the most; try again later",
                      options.sessions)};
}

wire::Delivery Gateway::delivery_of(const Message& message) const {
  if (catalog.is_all_reliable()) return {};
  const wire::CatalogPacket* known = catalog.find(message.descriptor()->id);
  return known == nullptr ? wire::Delivery{} : known->delivery;
}

std::optional<AddressCounts::Place> Gateway::place_for(std::string_view address) {
  auto place = addresses.take(address);
  if (place.has_value()) return place;
  metrics.addresses_refused.add();
  if (addresses.is_news(address)) {
    seams.log.write(
        LogLevel::Warning, "session",
        "clients of an address are turned away: it has as many connections as it may",
        {{"address", std::string(address)},
         {"stream.connections_per_address", std::to_string(options.connections_per_address)}});
  }
  return place;
}

wire::WebSocketClose Gateway::too_many_of_address() const {
  return {wire::CloseCode::Overloaded,
          fmt::format("there are {} connections from your address, which is the most; try again "
                      "later",
                      options.connections_per_address)};
}

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
