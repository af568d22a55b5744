// PageWalk: gathers a page from a table of shards, without ever holding up what uses the table.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "objects/page.hpp"
#include "runtime/ref_counted.hpp"
#include "runtime/strand.hpp"

namespace spotmesh::objects {

// A source of pages:
//   using Cell = …;                                      // RefCounted
//   using Row = …;
//   static constexpr std::size_t shard_count = …;
//   void look_at(std::size_t shard, visit) const;        // visit(Cell&), under the shard's lock
//   using Id = …;                                        // ordered; may be a view into the Cell
//   static Id id_of(const Cell&);
//   static Id id_from(const std::string& text);          // a view of the text, or a value
//   static std::string text_of(const Id&);
//   bool is_wanted(const PageWanted&, Cell&) const;      // called under the lock: only looks
//   Row row_of(Cell&) const;                             // called under no lock
//   runtime::Ref<Cell> find(const std::string& id) const;
//
// Runs on the strand that owns the rows: a shard at a time, so many objects in one job and so many
// for one page, whatever the filter lets through.
template <typename Source>
class PageWalk final : public std::enable_shared_from_this<PageWalk<Source>> {
 public:
  using Cell = typename Source::Cell;
  using Row = typename Source::Row;
  using Done = std::function<void(Page<Row>)>;

  static constexpr std::size_t objects_per_job = 4096;
  static constexpr std::size_t objects_per_page = 64 * 1024;

  PageWalk(Source source, runtime::Strand& strand, PageWanted wanted, Done done)
      : source_(std::move(source)),
        strand_(strand),
        wanted_(std::move(wanted)),
        done_(std::move(done)) {}

  // `done` is called once, on the strand, unless that is closed before. Any thread.
  static void begin(Source source, runtime::Strand& strand, PageWanted wanted, Done done) {
    auto walk =
        std::make_shared<PageWalk>(std::move(source), strand, std::move(wanted), std::move(done));
    strand.post([walk] { walk->go_on(); });
  }

 private:
  struct Found {
    std::size_t shard;
    runtime::Ref<Cell> cell;
  };

  void go_on() {
    std::size_t seen = 0;
    PageCursor& at = wanted_.from;
    for (; at.shard < Source::shard_count; ++at.shard, at.after.clear()) {
      if (seen_ >= objects_per_page) return end(at);
      if (seen >= objects_per_job) {
        return strand_.post([self = this->shared_from_this()] { self->go_on(); });
      }
      const std::size_t looked_at = look_at_shard();
      seen += looked_at;
      seen_ += looked_at;
      if (found_.size() <= wanted_.limit) continue;
      // One more than was asked for shows that there is a next page.
      found_.pop_back();
      const Found& last = found_.back();
      return end(PageCursor{last.shard, Source::text_of(Source::id_of(*last.cell))});
    }
    end(std::nullopt);
  }

  // Adds what is wanted of the present shard, up to one more than the page holds, by id.
  std::size_t look_at_shard() {
    const auto comes_first = [](const runtime::Ref<Cell>& a, const runtime::Ref<Cell>& b) {
      return Source::id_of(*a) < Source::id_of(*b);
    };
    const std::string& after = wanted_.from.after;
    const auto last_read = after.empty() ? std::optional<typename Source::Id>()
                                         : std::optional(Source::id_from(after));
    const std::size_t room = wanted_.limit + 1 - found_.size();
    std::size_t looked_at = 0;
    std::vector<runtime::Ref<Cell>> first;   // a heap, the last of them at its front
    std::vector<runtime::Ref<Cell>> let_go;  // ends outside the lock
    source_.look_at(wanted_.from.shard, [&](Cell& cell) {
      ++looked_at;
      const auto id = Source::id_of(cell);
      if (last_read && id <= *last_read) return;
      if (first.size() == room && !(id < Source::id_of(*first.front()))) return;
      if (!source_.is_wanted(wanted_, cell)) return;
      first.emplace_back(&cell);
      std::push_heap(first.begin(), first.end(), comes_first);
      if (first.size() <= room) return;
      std::pop_heap(first.begin(), first.end(), comes_first);
      let_go.push_back(std::move(first.back()));
      first.pop_back();
    });
    std::sort_heap(first.begin(), first.end(), comes_first);
    for (auto& cell : first) found_.push_back({wanted_.from.shard, std::move(cell)});
    return looked_at;
  }

  void end(std::optional<PageCursor> next) {
    Page<Row> page;
    page.rows.reserve(found_.size());
    for (const Found& found : found_) page.rows.push_back(source_.row_of(*found.cell));
    page.next = std::move(next);
    found_.clear();
    done_(std::move(page));
  }

  const Source source_;
  runtime::Strand& strand_;
  PageWanted wanted_;
  const Done done_;
  std::size_t seen_ = 0;
  std::vector<Found> found_;
};

// The page that is wanted: one row by its id, or a walk. Any thread.
template <typename Source>
void read_page(Source source, runtime::Strand& strand, PageWanted wanted,
               typename PageWalk<Source>::Done done) {
  if (!wanted.id) {
    return PageWalk<Source>::begin(std::move(source), strand, std::move(wanted), std::move(done));
  }
  strand.post([source = std::move(source), wanted = std::move(wanted), done = std::move(done)] {
    Page<typename Source::Row> page;
    const auto cell = source.find(*wanted.id);
    if (cell && source.is_wanted(wanted, *cell)) page.rows.push_back(source.row_of(*cell));
    done(std::move(page));
  });
}

}  // namespace spotmesh::objects
