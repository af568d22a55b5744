// Base64 as RFC 4648 section 4 has it: with padding, and one text for each sequence of bytes.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <spotmesh/bytes.hpp>

namespace spotmesh::wire {

void append_base64(std::string& out, ByteView bytes);

// Nothing for whitespace, missing padding, other alphabets and stray bits at the end.
std::optional<Bytes> decode_base64(std::string_view text);

}  // namespace spotmesh::wire
