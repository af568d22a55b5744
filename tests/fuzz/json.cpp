// parse_json and append_json_string: what is accepted is what the JSON library reads, within the
// limits; every text can be written as a string.
#include <nlohmann/json.hpp>
#include <spotmesh/actor_ref_json.hpp>
#include <string>

#include "base/utf8.hpp"
#include "fuzz/fuzz.hpp"
#include "wire/base64.hpp"
#include "wire/json.hpp"
#include "wire/text.hpp"

namespace spotmesh::fuzz {
namespace {

using nlohmann::json;

std::size_t depth_of(const json& value) {
  if (!value.is_structured()) return 0;
  std::size_t deepest = 0;
  for (const json& child : value) deepest = std::max(deepest, depth_of(child));
  return deepest + 1;
}

void check_parsed(std::string_view text) {
  const wire::JsonLimits limits{.max_bytes = 2048, .max_depth = 8};
  const auto parsed = wire::parse_json(text, limits);
  if (!parsed) {
    require(is_valid_utf8(parsed.error().message()), "an error can be shown");
    require(parsed.error().message().size() < 512, "an error is short");
    return;
  }
  require(text.size() <= limits.max_bytes, "a text over the limit is refused");
  require(depth_of(*parsed) <= limits.max_depth, "what is nested too deep is refused");
  require(json::parse(text) == *parsed, "the value is the one that the text has");
  const auto again = wire::parse_json(parsed->dump(), {.max_bytes = 1024 * 1024});
  require(again.has_value() && *again == *parsed, "a value survives being written");
}

void check_written(std::string_view text) {
  std::string quoted;
  wire::append_json_string(quoted, text);
  const auto read = wire::parse_json(quoted);
  require(read.has_value() && read->is_string(), "every text can be a JSON string");
  if (is_valid_utf8(text)) {
    require(read->get_ref<const std::string&>() == text, "a text survives being a JSON string");
  }
  const auto cut = wire::cut_at_character(text, text.size() / 2);
  require(text.starts_with(cut), "a cut text is the beginning of the text");
  require(!is_valid_utf8(text) || is_valid_utf8(cut), "a cut ends with a character");
}

void check_base64(std::string_view text) {
  std::string encoded;
  wire::append_base64(encoded, as_bytes(text));
  require(wire::decode_base64(encoded) == to_bytes(text), "bytes survive base64");
  if (const auto decoded = wire::decode_base64(text)) {
    encoded.clear();
    wire::append_base64(encoded, *decoded);
    require(encoded == text, "bytes have one form in base64");
  }
}

void check_actor_ref(std::string_view text) {
  const auto ref = actor_ref_from_json(text);
  if (ref) require(actor_ref_from_json(to_json(*ref)) == *ref, "a ref survives being written");
}

}  // namespace

void run(ByteView input) {
  const std::string_view text = as_text(input);
  check_parsed(text);
  check_written(text);
  check_base64(text);
  check_actor_ref(text);
}

}  // namespace spotmesh::fuzz
