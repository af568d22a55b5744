// Everything that is known of one Actor or session, in sentences.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include <spotmesh/error.hpp>

#include "cli/admin_client.hpp"
#include "cli/lists.hpp"

namespace spotmesh::cli {

// The value is whether there is such a one and all of it could be had. Errors as of AdminClient.
Result<bool> why_actor(const AdminClient& client, const std::string& id, bool as_json,
                       Output output);
Result<bool> why_session(const AdminClient& client, const std::string& id, bool as_json,
                         Output output);

// The sentences of an answer to /v1/why/actors/{id} and /v1/why/sessions/{id}.
struct Story {
  std::vector<std::string> sentences;
  bool is_whole = true;  // it is there, and everybody who knows of it has answered
};
Story actor_story(const nlohmann::json& document);
Story session_story(const nlohmann::json& document);

}  // namespace spotmesh::cli
