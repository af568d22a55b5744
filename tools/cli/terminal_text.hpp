// Texts that others have chosen, such as ids, as a terminal may show them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace spotmesh::cli {

// As it is when nothing in it can be mistaken; else in double quotes, with quotes, backslashes,
// control characters, characters that cannot be seen or change the direction of others, and bytes
// that are not UTF-8 escaped: "a\n\u{202e}\xff". What looks the same is the same.
std::string shown(std::string_view text);
// A sentence: only what would steer the terminal, or cannot be seen, is escaped.
std::string shown_words(std::string_view text);

// A document of JSON with such characters escaped by its own rules, so that it means the same.
std::string shown_json(std::string_view json);

// How many columns of a terminal it takes.
std::size_t columns_of(std::string_view text);

}  // namespace spotmesh::cli
