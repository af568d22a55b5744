#include "wire/json.hpp"

#include <cstdint>
#include <utility>
#include <vector>

#include "base/utf8.hpp"
#include "wire/text.hpp"

namespace spotmesh::wire {
namespace {

using nlohmann::json;

constexpr std::size_t fault_bytes = 160;

std::string not_json(std::size_t position, std::string_view detail) {
  return "not JSON at byte " + std::to_string(position) + ": " +
         std::string(cut_at_character(detail, fault_bytes));
}

// nlohmann's text without its id, its position and the bytes that it repeats from the input.
std::string_view without_quoted_input(std::string_view what) {
  const auto drop_through = [&what](std::string_view mark) {
    if (const auto at = what.find(mark); at != what.npos) what.remove_prefix(at + mark.size());
  };
  drop_through("] ");
  if (what.starts_with("parse error")) drop_through(": ");
  return what.substr(0, what.find("; last read"));
}

// Builds the value event by event. Every event returns whether to go on.
class StrictBuilder {
 public:
  explicit StrictBuilder(std::size_t max_depth) : max_depth_(max_depth) {}

  bool null() { return add(json()) != nullptr; }
  bool boolean(bool value) { return add(value) != nullptr; }
  bool number_integer(std::int64_t value) { return add(value) != nullptr; }
  bool number_unsigned(std::uint64_t value) { return add(value) != nullptr; }
  bool number_float(double value, const std::string&) { return add(value) != nullptr; }
  bool string(std::string& value) { return add(std::move(value)) != nullptr; }
  bool binary(std::vector<std::uint8_t>&) { return false; }

  bool start_object(std::size_t) { return open(json::object()); }
  bool end_object() { return close(); }
  bool start_array(std::size_t) { return open(json::array()); }
  bool end_array() { return close(); }

  bool key(std::string& key) {
    Level& level = levels_.back();
    level.key = std::move(key);
    if (!level.value->contains(level.key)) return true;
    error_ = "field " + path() + " stands twice";
    return false;
  }

  bool parse_error(std::size_t position, const std::string&, const json::exception& fault) {
    error_ = not_json(position > 0 ? position - 1 : 0, without_quoted_input(fault.what()));
    return false;
  }

  json take_root() { return std::move(root_); }
  std::string take_error() { return std::move(error_); }

 private:
  struct Level {
    json* value;
    std::string key;  // of the field being read, in an object
  };

  json* add(json value) {
    if (levels_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    json& parent = *levels_.back().value;
    if (parent.is_array()) {
      parent.push_back(std::move(value));
      return &parent.back();
    }
    return &(parent[levels_.back().key] = std::move(value));
  }

  bool open(json empty) {
    if (levels_.size() == max_depth_) {
      error_ = "nested deeper than " + std::to_string(max_depth_) + " levels";
      return false;
    }
    // A parent grows only when no child of it is open, so the pointers of the open levels stay.
    levels_.push_back({add(std::move(empty)), {}});
    return true;
  }

  bool close() {
    levels_.pop_back();
    return true;
  }

  // "payload.cells[3].mark" of what is being read.
  std::string path() const {
    std::string text;
    for (const Level& level : levels_) {
      if (level.value->is_array()) {
        text += '[' + std::to_string(level.value->size() - 1) + ']';
      } else {
        text += (text.empty() ? "" : ".") + level.key;
      }
    }
    return in_quotes(text);
  }

  std::size_t max_depth_;
  json root_;
  std::vector<Level> levels_;
  std::string error_;
};

}  // namespace

Result<nlohmann::json> parse_json(std::string_view text, const JsonLimits& limits) {
  if (text.size() > limits.max_bytes) {
    return fail(Error::protocol_error("JSON of " + std::to_string(text.size()) +
                                      " bytes is over the limit of " +
                                      std::to_string(limits.max_bytes) + " bytes"));
  }
  if (!is_valid_utf8(text)) return fail(Error::protocol_error("JSON text that is not UTF-8"));
  if (const auto nul = text.find('\0'); nul != text.npos) {  // nlohmann would take it for the end
    return fail(Error::protocol_error(not_json(nul, "a NUL byte")));
  }
  if (text.starts_with("\xef\xbb\xbf")) {  // … and this for nothing
    return fail(Error::protocol_error(not_json(0, "a byte order mark")));
  }
  StrictBuilder builder(limits.max_depth);
  if (!json::sax_parse(text.begin(), text.end(), &builder)) {
    return fail(Error::protocol_error(builder.take_error()));
  }
  return builder.take_root();
}

}  // namespace spotmesh::wire
