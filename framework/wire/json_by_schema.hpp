// Packets as JSON and back, by the schema: the payloads of spotmesh.v1.json. The rules stand in
// framework/docs/packets.md.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include <spotmesh/bytes.hpp>
#include <spotmesh/error.hpp>

#include "wire/json.hpp"
#include "wire/packet_catalog.hpp"

namespace spotmesh::wire {

// The packet's bytes, the same that generated code makes of the same values. ProtocolError names
// the first field at fault by its path ("payload.state.cells[3]") and what it must be. `payload`
// comes from parse_json, which bounds its depth and refuses fields that stand twice.
Result<Bytes> json_to_packet(const CatalogPacket& packet, const nlohmann::json& payload);

// The same from the text of one JSON object.
Result<Bytes> json_text_to_packet(const CatalogPacket& packet, std::string_view text,
                                  const JsonLimits& limits = {});

// The text of a JSON object with every field of the schema in its order: defaults are written out,
// and what is absent is null. ProtocolError for unsound bytes; InvalidOperation, naming the field,
// for what JSON cannot say: NaN and infinity, and values of enums and unions that this schema does
// not name; CapacityExceeded for a text longer than `max_bytes`.
Result<std::string> packet_to_json(const CatalogPacket& packet, ByteView bytes,
                                   std::size_t max_bytes = JsonLimits{}.max_bytes);

}  // namespace spotmesh::wire
