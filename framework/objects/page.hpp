// Page: a bounded part of a long list, and where the next one begins.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace spotmesh::objects {

// A place in the order in which pages are read: by the shards of a table, and within one by id.
// What is there from the first page to the last is on exactly one of them, whatever comes and goes
// meanwhile.
struct PageCursor {
  std::size_t shard = 0;
  std::string after;  // ids of the shard up to this one have been read; empty: none
  friend bool operator==(const PageCursor&, const PageCursor&) = default;
};

struct PageWanted {
  std::size_t limit = 100;
  PageCursor from;
  // Empty: any.
  std::string type;
  std::string mesh;
  // Of Actors: the Spot that contains them.
  std::string spot;
  // The one with this id, if it is of that type and mesh.
  std::optional<std::string> id;
};

// Fewer rows than were asked for do not mean that there are no more: so does `next`.
template <typename Row>
struct Page {
  std::vector<Row> rows;
  std::optional<PageCursor> next;
};

}  // namespace spotmesh::objects
