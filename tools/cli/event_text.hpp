// A message of the stream of events as a line for people.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

namespace spotmesh::cli {

// "2026-11-30T14:00:01.250Z node-9f49… actor.joined ann spot=den from=…"; empty for a message that
// says nothing to people, such as the beginning of a snapshot.
std::string event_line(const nlohmann::json& message);

}  // namespace spotmesh::cli
