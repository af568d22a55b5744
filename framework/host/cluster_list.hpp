// Pages of lists that are spread over all nodes.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include <spotmesh/error.hpp>
#include <spotmesh/ids.hpp>
#include <spotmesh/time.hpp>

#include "host/admin_json.hpp"
#include "host/admin_target.hpp"
#include "host/cluster_view.hpp"

namespace spotmesh::host {

// A place in a list of the whole cluster: the nodes by their RID, and within one its own order.
struct ListCursor {
  std::string node;
  std::string within;  // the node's own cursor; empty: from its beginning
};
// "<RID>~<the node's own cursor>".
std::string list_cursor_text(const ListCursor& cursor);
std::optional<ListCursor> parse_list_cursor(std::string_view text);

struct ListWanted {
  PageOf list = PageOf::Actors;
  std::size_t limit = admin_page_rows;
  std::optional<ListCursor> from;
  std::string filters;     // the rest of the query, for the nodes: "&type=a%2Fb"
  bool is_of_one = false;  // by its id: each node has it or not
  std::string node;        // of that node alone; empty: of all
};
// Of the parameters that page_wanted() knows, and `node`. InvalidOperation as it says.
Result<ListWanted> list_wanted(const AdminTarget& target, PageOf list);
std::string_view name_of(PageOf list);  // "actors"

// Any thread; `done` is called once, on the strand, by about the deadline. Each node is asked for
// as many rows as are missing, in the order of their RIDs, so that whoever lives at a node from the
// first page to the last is on one of them. What cannot be had in time is left to the next page,
// and a node that does not answer is named and passed over. NotFound: the one node that is wanted
// is not known.
void list_page(const ClusterView& cluster, ListWanted wanted, std::string client, Instant deadline,
               std::function<void(Result<ListPage>)> done);

// For one node's answer.
inline constexpr Duration node_answer_time = std::chrono::milliseconds(1500);
// Rows in one question, which bounds the answer's size.
inline constexpr std::size_t rows_per_question = 200;

}  // namespace spotmesh::host
