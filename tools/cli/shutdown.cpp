#include "cli/shutdown.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cli/event_reader.hpp"
#include "cli/json_text.hpp"
#include "cli/terminal_text.hpp"

namespace spotmesh::cli {
namespace {

using nlohmann::json;

// Whether the message says that this node is no more.
bool says_gone(const json& message, const std::string& node) {
  const json& event = at(message, "event");
  return text_at(message, "type") == "event" && text_at(event, "kind") == "node.gone" &&
         text_at(event, "subject") == node;
}

Result<void> wait_for_end(EventReader& reader, const std::string& node, bool is_asked_node,
                          Instant deadline) {
  while (true) {
    const auto message = reader.next(deadline);
    // A node that has stopped answers nobody.
    if (!message && is_asked_node) return {};
    if (!message) return fail(message.error());
    if (!*message) {
      return fail(Error::deadline_exceeded(fmt::format(
          "node {} has been told to shut down, and is still there; `spotmesh watch` shows what it "
          "does",
          node)));
    }
    if (says_gone(**message, node)) return {};
    if (text_at(**message, "type") == "gap") {
      if (auto asked = reader.ask_snapshot(); !asked) return asked;
    }
    // What happened in a gap, the snapshot shows.
    if (text_at(**message, "type") == "snapshot_begin") {
      const json& nodes = at(**message, "nodes");
      const bool is_there = std::ranges::any_of(
          nodes, [&](const json& each) { return text_at(each, "node") == node; });
      if (!is_there) return {};
    }
  }
}

}  // namespace

Result<std::string> node_meant(const std::string& text, const std::vector<std::string>& nodes) {
  std::vector<std::string> found;
  for (const std::string& node : nodes) {
    if (node == text) return node;
    if (node.starts_with(text)) found.push_back(shown(node));
  }
  const std::string list = fmt::format("{}", fmt::join(nodes, ", "));
  if (found.empty()) {
    return fail(
        Error::not_found(fmt::format("there is no node {}; there are {}", shown(text), list)));
  }
  if (found.size() > 1) {
    return fail(Error::invalid_operation(
        fmt::format("{} may be any of {}", shown(text), fmt::join(found, ", "))));
  }
  return *std::ranges::find_if(nodes, [&](const auto& node) { return node.starts_with(text); });
}

Result<void> shut_down(const AdminClient& client, const ShutdownOptions& options, Output output) {
  const auto cluster = client.get("/v1/cluster");
  if (!cluster) return fail(cluster.error());
  std::vector<std::string> nodes;
  for (const json& row : at(*cluster, "nodes")) nodes.push_back(text_at(row, "node"));
  const auto node = node_meant(options.node, nodes);
  if (!node) return fail(node.error());
  // Before it is told, so that its end is not missed.
  auto reader = EventReader::open(client, false);
  if (!reader) return fail(reader.error());
  std::string target = "/v1/shutdown?node=" + percent_encoded(*node);
  if (!options.deadline.empty()) target += "&deadline=" + percent_encoded(options.deadline);
  const auto told = client.post(target);
  if (!told) return fail(told.error());
  output.out << fmt::format("node {} is shutting down", shown(*node)) << std::endl;
  if (!options.waits) return {};
  const bool is_asked_node = text_at(*cluster, "node") == *node;
  auto ended = wait_for_end(*reader, *node, is_asked_node, client.now() + options.wait);
  if (!ended) return ended;
  output.out << fmt::format("node {} has stopped", shown(*node)) << std::endl;
  return {};
}

}  // namespace spotmesh::cli
