// What the admin endpoint tells, as JSON.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <spotmesh/error.hpp>
#include <spotmesh/ids.hpp>

#include "node/node.hpp"
#include "objects/inquiries.hpp"
#include "objects/inspection.hpp"
#include "stream/session_row.hpp"

namespace spotmesh::host {

// {"error":"…"}
std::string error_json(std::string_view text);
// {"status":"…","node":"…","state":"…"}, without a newline.
std::string status_json(const node::Node& node, std::string_view status);
// One row of a list each.
std::string row_json(const objects::ActorRow& actor);
std::string row_json(const objects::SpotRow& spot);
// `node` is the one that has the session.
std::string row_json(const NodeRid& node, const stream::SessionRow& session);
std::string row_json(const objects::CensusRow& all_of_a_type);

// What a node knows of itself at this moment and others cannot.
struct SelfFacts {
  std::string state;
  std::optional<std::uint64_t> sessions;  // of a gateway
  bool is_admitted = false;
  std::string meshes;  // its part in each mesh, as a list of JSON
};
// On the strand.
std::string self_json(const node::Node& node);
// InternalFailure when it is none of the kind.
Result<SelfFacts> read_self(std::string_view json);

// A node as its descriptor says, and what it has answered itself, or why it has not.
std::string row_json(const objects::NodeRow& node, const Result<SelfFacts>& facts);

// {"node":"…","nodes":[…]}: `facts` are what each of the nodes has answered to /v1/self.
std::string cluster_json(const NodeRid& asked, const std::vector<objects::NodeRow>& nodes,
                         const std::vector<Result<objects::InquiryAnswer>>& facts);

// A node that could not be asked, or did not answer in time.
struct Unanswered {
  NodeRid node;
  std::string reason;
};
// {"node":"…","actors":[…],"unanswered":[…],"next":"…"}: `name` names the list, `node` is the one
// that was asked; null for `next` on the last page.
struct ListPage {
  std::vector<std::string> rows;
  std::vector<Unanswered> unanswered;
  std::optional<std::string> next;
};
std::string page_json(const NodeRid& node, std::string_view name, const ListPage& page);

}  // namespace spotmesh::host
