#include "cli/event_text.hpp"

#include <fmt/format.h>

#include "cli/json_text.hpp"
#include "cli/terminal_text.hpp"

namespace spotmesh::cli {
namespace {

using nlohmann::json;

std::string snapshot_text(const json& message) {
  std::string text = "watching";
  for (const json& node : at(message, "nodes")) {
    text += fmt::format(" {} ({}{})", shown(text_at(node, "node")), shown(text_at(node, "state")),
                        is_true_at(node, "has_answered") ? "" : ", does not answer");
  }
  return text;
}

std::string event_text(const json& message) {
  const json& event = at(message, "event");
  std::string text =
      fmt::format("{} {} {} {}", shown(text_at(event, "time")), shown(text_at(message, "node")),
                  shown(text_at(event, "kind")), shown(text_at(event, "subject")));
  const json& fields = at(event, "fields");
  if (!fields.is_object()) return text;
  for (const auto& [key, value] : fields.items()) {
    text += fmt::format(" {}={}", shown(key), shown(text_at(fields, key)));
  }
  return text;
}

}  // namespace

std::string event_line(const json& message) {
  const std::string type = text_at(message, "type");
  const std::string node = shown(text_at(message, "node"));
  if (type == "event") return event_text(message);
  if (type == "snapshot_begin") return snapshot_text(message);
  if (type == "gap") {
    return fmt::format("gap: {} events of node {} are lost to this watcher",
                       number_at(message, "missed"), node);
  }
  if (type == "unanswered") {
    return fmt::format("node {} does not answer: {}", node,
                       shown_words(text_at(message, "reason")));
  }
  if (type == "answers") return fmt::format("node {} answers again", node);
  return {};
}

}  // namespace spotmesh::cli
