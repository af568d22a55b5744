#include "host/cluster_list.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include <spotmesh/limits.hpp>

#include "objects/core.hpp"

namespace spotmesh::host {
namespace {

using objects::NodeRow;

constexpr char cursor_separator = '~';  // which no RID has in it

const std::string& rid_of(const NodeRow& node) { return node.descriptor.stamp.rid.text; }

// One page. Kept by what it waits for.
class PageRun final : public std::enable_shared_from_this<PageRun> {
 public:
  using Done = std::function<void(Result<ListPage>)>;

  PageRun(const ClusterView& cluster, ListWanted wanted, std::string client, Instant deadline,
          Done done)
      : cluster_(cluster),
        wanted_(std::move(wanted)),
        client_(std::move(client)),
        deadline_(deadline),
        done_(std::move(done)) {}

  void begin() {
    cluster_.nodes([self = shared_from_this()](ClusterView::Nodes nodes) {
      self->take_nodes(std::move(nodes));
    });
  }

 private:
  void take_nodes(ClusterView::Nodes nodes) {
    if (!wanted_.node.empty()) {
      std::erase_if(nodes, [&](const NodeRow& node) { return rid_of(node) != wanted_.node; });
      if (nodes.empty()) {
        return done_(fail(Error::not_found(
            fmt::format("node {} knows of no node '{}'", cluster_.self().text, wanted_.node))));
      }
    }
    nodes_ = std::move(nodes);
    if (wanted_.is_of_one) return ask_all();
    if (wanted_.from) {
      // It may have gone since; then it goes on with the one behind it.
      const auto first = std::ranges::lower_bound(nodes_, wanted_.from->node, {}, rid_of);
      next_ = static_cast<std::size_t>(first - nodes_.begin());
      const bool is_there = first != nodes_.end() && rid_of(*first) == wanted_.from->node;
      if (is_there) within_ = wanted_.from->within;
    }
    go_on();
  }

  std::string target(std::size_t limit) const {
    std::string text = fmt::format("/v1/{}?limit={}", name_of(wanted_.list), limit);
    if (!within_.empty()) text += "&cursor=" + within_;
    return text + wanted_.filters;
  }

  void ask_all() {
    auto nodes = nodes_;
    cluster_.ask_all(std::move(nodes), {target(1), client_}, answer_deadline(),
                     [self = shared_from_this()](const ClusterView::Nodes& nodes,
                                                 std::vector<ClusterView::Answer> answers) {
                       for (std::size_t i = 0; i < nodes.size(); ++i) {
                         self->take_rows(nodes[i], std::move(answers[i]));
                       }
                       self->done_(std::move(self->page_));
                     });
  }

  Instant answer_deadline() const {
    return std::min(deadline_, cluster_.core().now() + node_answer_time);
  }

  // Asks the next node, unless the page is full or the time is over.
  void go_on() {
    const bool is_over = cluster_.core().now() >= deadline_ && has_asked_;
    if (next_ < nodes_.size() && (is_over || page_.rows.size() >= wanted_.limit)) {
      page_.next = list_cursor_text({rid_of(nodes_[next_]), within_});
      return done_(std::move(page_));
    }
    if (next_ == nodes_.size()) return done_(std::move(page_));
    has_asked_ = true;
    asked_rows_ = std::min({wanted_.limit - page_.rows.size(), rows_per_question, rows_most_});
    cluster_.ask(nodes_[next_], {target(asked_rows_), client_}, answer_deadline(),
                 [self = shared_from_this()](ClusterView::Answer answer) {
                   self->take_answer(std::move(answer));
                 });
  }

  void take_answer(ClusterView::Answer answer) {
    // Rows of odd length: fewer of them fit into a message between nodes.
    const bool is_too_long = !answer && answer.error().kind() == ErrorKind::CapacityExceeded;
    if (is_too_long && asked_rows_ > 1) {
      rows_most_ = asked_rows_ / 2;
      return go_on();
    }
    std::optional<std::string> next;
    if (answer) next = answer->next;
    take_rows(nodes_[next_], std::move(answer));
    within_ = next.value_or("");
    if (!next) ++next_;
    go_on();
  }

  void take_rows(const NodeRow& node, ClusterView::Answer answer) {
    if (!answer) {
      page_.unanswered.push_back({node.descriptor.stamp.rid, answer.error().message()});
      return;
    }
    for (std::string& row : answer->rows) page_.rows.push_back(std::move(row));
  }

  const ClusterView cluster_;
  const ListWanted wanted_;
  const std::string client_;
  const Instant deadline_;
  const Done done_;
  ClusterView::Nodes nodes_;
  std::size_t next_ = 0;
  std::string within_;  // of the next node
  bool has_asked_ = false;
  std::size_t asked_rows_ = 0;
  std::size_t rows_most_ = rows_per_question;
  ListPage page_;
};

}  // namespace

std::string_view name_of(PageOf list) {
  switch (list) {
    case PageOf::Actors:
      return "actors";
    case PageOf::Spots:
      return "spots";
    case PageOf::Sessions:
      return "sessions";
  }
  return "unknown";
}

std::string list_cursor_text(const ListCursor& cursor) {
  return cursor.node + cursor_separator + cursor.within;
}

std::optional<ListCursor> parse_list_cursor(std::string_view text) {
  const std::size_t separator = text.find(cursor_separator);
  if (separator == text.npos || separator == 0) return {};
  const auto is_plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.';
  };
  ListCursor cursor{std::string(text.substr(0, separator)),
                    std::string(text.substr(separator + 1))};
  if (!std::ranges::all_of(cursor.node, is_plain)) return {};
  return cursor;
}

Result<ListWanted> list_wanted(const AdminTarget& target, PageOf list) {
  ListWanted wanted{.list = list};
  AdminTarget of_node = target;
  if (const auto given = of_node.query.extract("node")) wanted.node = given.mapped();
  if (const auto given = of_node.query.extract("cursor")) {
    wanted.from = parse_list_cursor(given.mapped());
    if (!wanted.from) {
      return fail(Error::invalid_operation(
          "cursor is none that a page of this list has given as its next"));
    }
    if (!wanted.from->within.empty()) of_node.query.emplace("cursor", wanted.from->within);
  }
  const auto page = page_wanted(of_node, list);
  if (!page) return fail(page.error());
  wanted.limit = page->limit;
  wanted.is_of_one = page->id.has_value();
  for (const auto& [name, value] : of_node.query) {
    if (name == "limit" || name == "cursor") continue;
    wanted.filters += fmt::format("&{}={}", name, percent_encode(value));
  }
  return wanted;
}

void list_page(const ClusterView& cluster, ListWanted wanted, std::string client, Instant deadline,
               std::function<void(Result<ListPage>)> done) {
  std::make_shared<PageRun>(cluster, std::move(wanted), std::move(client), deadline,
                            std::move(done))
      ->begin();
}

}  // namespace spotmesh::host
