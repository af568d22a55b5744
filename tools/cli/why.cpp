#include "cli/why.hpp"

#include <fmt/format.h>

#include <utility>

#include "cli/json_text.hpp"
#include "cli/terminal_text.hpp"

namespace spotmesh::cli {
namespace {

using nlohmann::json;

Result<bool> print(Result<json> document, Story (*tell)(const json&), bool as_json, Output output) {
  if (!document) return fail(document.error());
  const Story story = tell(*document);
  if (as_json) {
    output.out << shown_json(document->dump()) << '\n';
  } else {
    for (const std::string& sentence : story.sentences) output.out << sentence << '\n';
  }
  output.out.flush();
  return story.is_whole;
}

void tell_bound_actor(Story& story, const std::string& session, const json& actor) {
  const std::string name = shown(text_at(actor, "id"));
  const std::string node = shown(text_at(actor, "node"));
  if (!at(actor, "row").is_object()) {
    story.is_whole = false;
    story.sentences.push_back(
        fmt::format("It is bound to Actor {} on node {}, of which nothing "
                    "can be said: {}.",
                    name, node, shown_words(text_at(actor, "reason"))));
    return;
  }
  const json& row = at(actor, "row");
  const std::string bound = text_at(at(row, "binding"), "session");
  if (bound == session) {
    story.sentences.push_back(fmt::format(
        "It is bound to Actor {} on node {}, which is {}, in Spot {}, with {} messages waiting; "
        "`spotmesh why actor` tells more.",
        name, node, shown(text_at(row, "state")), shown(text_at(at(row, "spot"), "id")),
        number_at(at(row, "mailbox"), "application")));
  } else {
    story.sentences.push_back(fmt::format(
        "It takes itself for bound to Actor {} on node {}, but that one {}: the binding is about "
        "to end.",
        name, node, bound.empty() ? "has no session" : "is bound to session " + shown(bound)));
  }
}

void tell_traffic(Story& story, const json& row) {
  const auto packets = number_at(row, "queued_packets");
  const auto requests = number_at(row, "unanswered_requests");
  const auto bytes = number_at(row, "unsent_bytes");
  story.sentences.push_back(
      packets == 0
          ? "No packet of the client waits for a handler."
          : fmt::format("{} packets of the client wait for their handlers to end.", packets));
  if (requests > 0) {
    story.sentences.push_back(
        fmt::format("{} requests of the client have no answer yet.", requests));
  }
  story.sentences.push_back(bytes == 0
                                ? "The client has been sent all that was said to it."
                                : fmt::format("{} bytes wait for the client to read.", bytes));
}

}  // namespace

Story session_story(const json& document) {
  Story story;
  const std::string session = text_at(document, "session");
  const json& row = at(document, "row");
  for (const json& each : at(document, "unanswered")) {
    story.sentences.push_back(fmt::format("Node {} could not be asked: {}.",
                                          shown(text_at(each, "node")),
                                          shown_words(text_at(each, "reason"))));
    story.is_whole = false;
  }
  if (!row.is_object()) {
    story.is_whole = false;
    story.sentences.push_back(
        fmt::format("There is no session {} on any node that has answered.", shown(session)));
    return story;
  }
  story.sentences.push_back(
      fmt::format("Session {} is {} at gateway {} of node {}, for a client at {}.", shown(session),
                  shown(text_at(row, "state")), shown(text_at(row, "type")),
                  shown(text_at(row, "node")), shown(text_at(row, "remote_address"))));
  tell_traffic(story, row);
  const json& actors = at(document, "actors");
  if (actors.empty()) story.sentences.push_back("It is bound to no Actor.");
  for (const json& actor : actors) tell_bound_actor(story, session, actor);
  if (at(row, "actors").size() > actors.size()) {
    story.sentences.push_back(
        fmt::format("It is bound to {} Actors in all.", at(row, "actors").size()));
  }
  return story;
}

Result<bool> why_actor(const AdminClient& client, const std::string& id, bool as_json,
                       Output output) {
  return print(client.get("/v1/why/actors/" + percent_encoded(id)), actor_story, as_json, output);
}

Result<bool> why_session(const AdminClient& client, const std::string& id, bool as_json,
                         Output output) {
  return print(client.get("/v1/why/sessions/" + percent_encoded(id)), session_story, as_json,
               output);
}

}  // namespace spotmesh::cli
