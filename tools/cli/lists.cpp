#include "cli/lists.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cli/json_text.hpp"
#include "cli/table.hpp"
#include "cli/terminal_text.hpp"

namespace spotmesh::cli {
namespace {

using nlohmann::json;

constexpr std::size_t page_rows = 500;

struct Form {
  std::string_view name;
  std::vector<std::string> header;
};

Form form_of(List list) {
  switch (list) {
    case List::Actors:
      return {"actors", {"ACTOR", "TYPE", "SPOT", "STATE", "QUEUE", "TURN", "SESSION", "NODE"}};
    case List::Spots:
      return {"spots", {"SPOT", "TYPE", "KIND", "MEMBERS", "STATE", "QUEUE", "TURN", "NODE"}};
    case List::Sessions:
      break;
  }
  return {"sessions",
          {"SESSION", "CLIENT", "STATE", "QUEUE", "UNANSWERED", "UNSENT", "ACTORS", "NODE"}};
}

std::string text_or_dash(const std::string& text) { return text.empty() ? "-" : shown(text); }

std::string number_text(std::uint64_t number) { return fmt::format("{}", number); }

// "3", or "3+1" with jobs of the runtime.
std::string queue_text(const json& mailbox) {
  const std::uint64_t control = number_at(mailbox, "control");
  std::string text = number_text(number_at(mailbox, "application"));
  if (control > 0) text += fmt::format("+{}", control);
  return text;
}

std::string turn_text(const json& mailbox) {
  const json& turn = at(mailbox, "turn");
  if (!turn.is_object()) return "-";
  return fmt::format("{} ({} ms)", shown(text_at(turn, "for")), number_at(turn, "age_ms"));
}

std::string actors_text(const json& actors) {
  if (!actors.is_array() || actors.empty()) return "-";
  std::string text;
  for (const json& actor : actors) {
    if (!text.empty()) text += ", ";
    text += shown(text_at(actor, "id"));
  }
  return text;
}

std::string state_text(const json& row) {
  return shown(text_at(row, "state")) + (is_true_at(row, "is_in_transition") ? ", moving" : "");
}

void warn_unanswered(const json& page, std::ostream& err) {
  for (const json& each : at(page, "unanswered")) {
    err << fmt::format("warning: node {} is missing: {}\n", shown(text_at(each, "node")),
                       shown_words(text_at(each, "reason")));
  }
}

std::string target_of(std::string_view name, const ListOptions& options, std::size_t limit) {
  std::string target = fmt::format("/v1/{}?limit={}", name, limit);
  const auto add = [&](std::string_view key, const std::string& value) {
    if (!value.empty()) target += fmt::format("&{}={}", key, percent_encoded(value));
  };
  add("type", options.type);
  add("mesh", options.mesh);
  add("node", options.node);
  add("spot", options.spot);
  return target;
}

std::string capacity_text(const json& row, std::string_view kind) {
  std::uint64_t active = 0;
  std::uint64_t limit = 0;
  for (const json& mesh : at(row, "meshes")) {
    active += number_at(at(mesh, kind), "active");
    limit += number_at(at(mesh, kind), "limit");
  }
  return limit == 0 ? number_text(active) : fmt::format("{}/{}", active, limit);
}

}  // namespace

std::vector<std::string> cells_of(List list, const json& row) {
  switch (list) {
    case List::Actors:
      return {shown(text_at(row, "id")),
              shown(text_at(row, "type")),
              text_or_dash(text_at(at(row, "spot"), "id")),
              state_text(row),
              queue_text(at(row, "mailbox")),
              turn_text(at(row, "mailbox")),
              text_or_dash(text_at(at(row, "binding"), "session")),
              shown(text_at(row, "node"))};
    case List::Spots:
      return {shown(text_at(row, "id")),
              shown(text_at(row, "type")),
              shown(text_at(row, "kind")),
              number_text(number_at(row, "members")),
              state_text(row),
              queue_text(at(row, "mailbox")),
              turn_text(at(row, "mailbox")),
              shown(text_at(row, "node"))};
    case List::Sessions:
      break;
  }
  return {shown(text_at(row, "id")),
          shown(text_at(row, "remote_address")),
          shown(text_at(row, "state")),
          number_text(number_at(row, "queued_packets")),
          number_text(number_at(row, "unanswered_requests")),
          number_text(number_at(row, "unsent_bytes")),
          actors_text(at(row, "actors")),
          shown(text_at(row, "node"))};
}

std::vector<std::string> node_cells(const json& row) {
  std::string state = shown(text_at(row, "state"));
  if (!is_true_at(row, "has_answered")) {
    state += "?";
  } else if (!is_true_at(row, "is_admitted") && state == "Serving") {
    state += ", lease run out";
  }
  const json& sessions = at(row, "sessions");
  return {shown(text_at(row, "node")) + (is_true_at(row, "is_self") ? " *" : ""),
          state,
          text_or_dash(text_at(row, "version")),
          text_or_dash(text_at(row, "address")),
          capacity_text(row, "actors"),
          capacity_text(row, "spots"),
          sessions.is_number_unsigned() ? number_text(sessions.get<std::uint64_t>()) : "-"};
}

Result<bool> print_nodes(const AdminClient& client, bool as_json, Output output) {
  const auto document = client.get("/v1/cluster");
  if (!document) return fail(document.error());
  Table table({"NODE", "STATE", "VERSION", "ADDRESS", "ACTORS", "SPOTS", "SESSIONS"});
  bool is_whole = true;
  for (const json& row : at(*document, "nodes")) {
    if (as_json) {
      output.out << shown_json(row.dump()) << '\n';
    } else {
      table.add(node_cells(row));
    }
    if (is_true_at(row, "has_answered")) continue;
    is_whole = false;
    output.err << fmt::format("warning: node {} does not answer: {}\n", shown(text_at(row, "node")),
                              shown_words(text_at(row, "reason")));
  }
  if (!as_json) table.print(output.out);
  return is_whole;
}

Result<bool> print_list(const AdminClient& client, List list, const ListOptions& options,
                        Output output) {
  const Form form = form_of(list);
  Table table(form.header);
  std::size_t left = options.limit == 0 ? ~std::size_t{0} : options.limit;
  std::string cursor;
  bool is_whole = true;
  while (left > 0 && output.out.good()) {
    std::string target = target_of(form.name, options, std::min(left, page_rows));
    if (!cursor.empty()) target += "&cursor=" + percent_encoded(cursor);
    const auto page = client.get(target);
    if (!page) return fail(page.error());
    for (const json& row : at(*page, form.name)) {
      --left;
      if (options.as_json) {
        output.out << shown_json(row.dump()) << '\n';
      } else {
        table.add(cells_of(list, row));
      }
    }
    if (!options.as_json) table.print(output.out);
    warn_unanswered(*page, output.err);
    is_whole = is_whole && at(*page, "unanswered").empty();
    cursor = text_at(*page, "next");
    if (cursor.empty()) break;
  }
  return is_whole;
}

}  // namespace spotmesh::cli
