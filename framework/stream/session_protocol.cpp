#include "stream/session_protocol.hpp"

#include <string>

#include <fmt/format.h>

#include "stream/binary_protocol.hpp"
#include "stream/json_protocol.hpp"
#include "wire/packet_catalog.hpp"
#include "wire/stream_binary.hpp"
#include "wire/stream_json.hpp"
#include "wire/text.hpp"

namespace spotmesh::stream {

Result<void> SessionProtocol::check_fits(const SharedBytes&) const { return {}; }

SharedBytes SessionProtocol::encode_welcome(const wire::StreamWelcome&) const { return {}; }

Result<const wire::CatalogPacket*> packet_to_client(const wire::PacketCatalog& catalog,
                                                    const Message& message) {
  const PacketDescriptor* descriptor = message.descriptor();
  if (descriptor == nullptr) {
    return fail(Error::invalid_operation("an empty message cannot be sent to a client"));
  }
  const wire::CatalogPacket* known = catalog.find(descriptor->id);
  if (known != nullptr) return known;
  return fail(Error::not_configured(
      fmt::format("clients cannot get packet '{}': the application does not name its schema; add "
                  "it with Application::packets",
                  descriptor->name)));
}

Result<std::unique_ptr<SessionProtocol>> make_protocol(const LinkInfo& info,
                                                       const wire::PacketCatalog& catalog,
                                                       const StreamOptions& options) {
  if (info.framing == LinkInfo::Framing::LengthPrefixed) {
    return std::make_unique<TcpProtocol>(catalog, options.message_bytes);
  }
  if (info.subprotocol == wire::json_subprotocol) {
    return std::make_unique<JsonProtocol>(catalog, options.message_bytes);
  }
  if (info.subprotocol == wire::binary_subprotocol) {
    return std::make_unique<WebSocketBinaryProtocol>(catalog, options.message_bytes);
  }
  return fail(Error::not_found(fmt::format("no subprotocol {} here; there are {} and {}",
                                           wire::in_quotes(info.subprotocol),
                                           wire::binary_subprotocol, wire::json_subprotocol)));
}

}  // namespace spotmesh::stream
