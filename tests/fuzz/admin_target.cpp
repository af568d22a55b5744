// The target of an admin request: decoded or refused; what is encoded comes back as it was, and a
// cursor is one that a page could have given.
#include "host/admin_target.hpp"

#include <string>

#include "base/utf8.hpp"
#include "fuzz/fuzz.hpp"

namespace spotmesh::fuzz {
namespace {

void check_page(const host::AdminTarget& target, host::PageOf list) {
  const auto wanted = page_wanted(target, list);
  if (!wanted) {
    require(!wanted.error().message().empty(), "a refusal says why");
    return;
  }
  require(wanted->limit >= 1 && wanted->limit <= host::admin_page_rows_most, "a page is bounded");
  host::AdminTarget again;
  again.query["cursor"] = host::cursor_text(wanted->from);
  const auto same = page_wanted(again, list);
  require(same && same->from == wanted->from, "a cursor comes back as it was given");
}

}  // namespace

void run(ByteView bytes) {
  Input input(bytes);
  const std::string text(input.rest_text());
  if (const auto target = host::parse_admin_target(text)) {
    std::string rebuilt;
    for (const std::string& segment : target->path) {
      require(is_valid_utf8(segment), "a segment is UTF-8");
      rebuilt += "/" + host::percent_encode(segment);
    }
    // An empty segment at the end is not told from none.
    if (!target->path.empty() && !target->path.back().empty()) {
      const auto again = host::parse_admin_target(rebuilt);
      require(again && again->path == target->path, "a path comes back as it was");
    }
    for (const auto& [name, value] : target->query) {
      require(is_valid_utf8(name) && is_valid_utf8(value), "a parameter is UTF-8");
    }
    for (const auto list : {host::PageOf::Actors, host::PageOf::Spots, host::PageOf::Sessions}) {
      check_page(*target, list);
    }
  }
  if (!is_valid_utf8(text) || text.empty()) return;
  const auto whole = host::parse_admin_target("/x/" + host::percent_encode(text) +
                                              "?q=" + host::percent_encode(text));
  require(whole && whole->path.at(1) == text && whole->query.at("q") == text,
          "any text is a segment and a value once it is encoded");
}

}  // namespace spotmesh::fuzz
