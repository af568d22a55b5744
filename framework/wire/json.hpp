// JSON from outside, read strictly. Internal: the only headers that show nlohmann's type are those
// of wire/.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include <spotmesh/error.hpp>

namespace spotmesh::wire {

struct JsonLimits {
  std::size_t max_bytes = 4 * 1024 * 1024;
  std::size_t max_depth = 32;  // objects and arrays inside one another; `{}` has depth 1
};

// One JSON value and nothing behind it (RFC 8259). ProtocolError, naming the place, when the text
// is too long, not UTF-8, not JSON (a byte order mark is none either), nested too deep, or has one
// field of an object twice. Integers
// keep their 64 bits; a number that no double can hold is refused.
Result<nlohmann::json> parse_json(std::string_view text, const JsonLimits& limits = {});

}  // namespace spotmesh::wire
