// The lists of a cluster: nodes, Actors, Spots and sessions, as tables or as JSON.
#pragma once

#include <cstddef>
#include <ostream>
#include <string>

#include <nlohmann/json.hpp>

#include "cli/admin_client.hpp"

namespace spotmesh::cli {

struct ListOptions {
  std::string type;
  std::string mesh;
  std::string node;
  std::string spot;
  std::size_t limit = 0;  // 0: all
  bool as_json = false;   // one object per line
};

enum class List { Actors, Spots, Sessions };

// What is printed, and where warnings go.
struct Output {
  std::ostream& out;
  std::ostream& err;
};

// The value is whether all of it could be had; what could not is told as warnings. Errors as of
// AdminClient.
Result<bool> print_nodes(const AdminClient& client, bool as_json, Output output);
Result<bool> print_list(const AdminClient& client, List list, const ListOptions& options,
                        Output output);

// The cells of a row.
std::vector<std::string> cells_of(List list, const nlohmann::json& row);
std::vector<std::string> node_cells(const nlohmann::json& row);

}  // namespace spotmesh::cli
