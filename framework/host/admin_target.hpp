// The target of an admin request: its path and query, decoded.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <spotmesh/error.hpp>

#include "objects/page.hpp"

namespace spotmesh::host {

struct AdminTarget {
  // "/v1/actors/a%2Fb" is {"v1", "actors", "a/b"}; "/" is nothing.
  std::vector<std::string> path;
  std::map<std::string, std::string, std::less<>> query;
};

// InvalidOperation, naming the fault: no path, a percent sign without two digits, what is not UTF-8
// when it is decoded, a parameter that is there twice. A plus sign is a space in the query alone.
Result<AdminTarget> parse_admin_target(std::string_view target);

// `text` as one segment of a path, or a value of a query.
std::string percent_encode(std::string_view text);

// InvalidOperation for the first parameter that is none of `allowed`.
Result<void> allow_parameters(const AdminTarget& target, const std::vector<std::string>& allowed);

// Whether it is that path, with one more segment, an id, behind it if `has_id`.
bool is_path(const AdminTarget& target, std::string_view path, bool has_id);

// What the parameters limit, cursor, type, mesh and id, and of Actors spot, ask of one node.
// InvalidOperation for any other, for a limit out of range and for a cursor that no page of such a
// list has given.
enum class PageOf { Actors, Spots, Sessions };
Result<objects::PageWanted> page_wanted(const AdminTarget& target, PageOf list);
// The cursor as the query has it.
std::string cursor_text(const objects::PageCursor& cursor);

inline constexpr std::size_t admin_page_rows = 100;  // unless `limit` says otherwise
inline constexpr std::size_t admin_page_rows_most = 1000;

}  // namespace spotmesh::host
