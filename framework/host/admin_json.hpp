// What the admin endpoint tells, as JSON.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "node/node.hpp"
#include "objects/inspection.hpp"
#include "objects/page.hpp"
#include "stream/session_row.hpp"

namespace spotmesh::host {

// {"error":"…"}
std::string error_json(std::string_view text);
// {"status":"…","node":"…","state":"…"}
std::string status_json(const node::Node& node, std::string_view status);
// The node itself in its present state, and how many sessions it has.
std::string cluster_json(const node::Node& node, const std::vector<objects::NodeRow>& nodes);

// {"node":"…","actors":[…],"next":"…"}; null for `next` on the last page.
std::string page_json(const NodeRid& node, const objects::Page<objects::ActorRow>& page);
std::string page_json(const NodeRid& node, const objects::Page<objects::SpotRow>& page);
std::string page_json(const NodeRid& node, const objects::Page<stream::SessionRow>& page);
std::string actor_json(const objects::ActorRow& actor);

}  // namespace spotmesh::host
