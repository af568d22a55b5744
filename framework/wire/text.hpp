// Text on its way out: into JSON, into error messages, into fields of bounded length.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace spotmesh::wire {

// Appends `text` as a JSON string with its quotes. What is not UTF-8 becomes U+FFFD, so that the
// result is always valid.
void append_json_string(std::string& out, std::string_view text);

// `text`, with U+FFFD for what is not UTF-8.
std::string as_utf8(std::string_view text);

// The same of a text of any length, cut to `max_bytes`.
std::string as_utf8(std::string_view text, std::size_t max_bytes);

// `text` in single quotes for an error message, cut to a length that fits there.
std::string in_quotes(std::string_view text);

// The longest beginning of `text` of at most `max_bytes` that does not end inside a character.
std::string_view cut_at_character(std::string_view text, std::size_t max_bytes);

}  // namespace spotmesh::wire
