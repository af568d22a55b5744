#include "host/event_feed.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <chrono>
#include <map>
#include <utility>
#include <vector>

#include "host/admin_json.hpp"
#include "host/cluster_list.hpp"
#include "host/json_writer.hpp"
#include "objects/core.hpp"
#include "objects/store_port.hpp"
#include "objects/strand_link.hpp"

namespace spotmesh::host {
namespace {

using objects::Core;
using objects::NodeRow;

constexpr Duration event_wait = std::chrono::seconds(2);
constexpr Duration event_answer_time = event_wait + std::chrono::seconds(3);
constexpr Duration look_interval = std::chrono::seconds(1);  // for nodes that have come and gone
constexpr unsigned looks_per_queues = 5;
constexpr Duration snapshot_page_time = std::chrono::seconds(4);
constexpr Duration retry_pause = std::chrono::seconds(1);  // after a node has not answered
constexpr std::size_t snapshot_rows = 200;
constexpr std::array snapshot_lists{PageOf::Spots, PageOf::Actors, PageOf::Sessions};

const std::string& rid_of(const NodeRow& node) { return node.descriptor.stamp.rid.text; }

// "<first>-<last>", as OwnAnswers says it.
struct Numbers {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
};
std::optional<Numbers> parse_numbers(const std::optional<std::string>& text) {
  if (!text) return {};
  Numbers numbers;
  const char* const end = text->data() + text->size();
  const auto first = std::from_chars(text->data(), end, numbers.first);
  if (first.ec != std::errc() || first.ptr == end || *first.ptr != '-') return {};
  const auto last = std::from_chars(first.ptr + 1, end, numbers.last);
  if (last.ec != std::errc() || last.ptr != end) return {};
  return numbers;
}

// What every node sees of the others by itself is told by the one that is asked alone.
bool is_of_another_node(std::string_view row) {
  for (const std::string_view kind : {"node.known", "node.gone", "node.silent"}) {
    if (row.find(fmt::format("\"kind\":\"{}\"", kind)) != row.npos) return true;
  }
  return false;
}

}  // namespace

// Everything happens on the strand.
class EventFeed::Run final : public std::enable_shared_from_this<Run> {
 public:
  Run(const ClusterView& cluster, FeedOptions options, std::shared_ptr<Outbox> outbox)
      : cluster_(cluster),
        options_(std::move(options)),
        outbox_(std::move(outbox)),
        look_timer_(core(), [this] { look(); }),
        retry_timer_(core(), [this] { go_on(); }) {}

  // What comes after a new snapshot has begun, or after the end, is dropped.
  template <typename Take>
  auto in_this_round(Take take) {
    return [self = shared_from_this(), round = round_, take = std::move(take)](auto&&... values) {
      if (self->round_ == round) take(std::forward<decltype(values)>(values)...);
    };
  }

  // A new snapshot, whatever was under way.
  void begin_snapshot() {
    if (phase_ == Phase::Ended) return;
    phase_ = Phase::Snapshot;
    ++round_;
    watched_.clear();
    unanswered_.clear();
    number_ = 0;
    cluster_.nodes(in_this_round([this](ClusterView::Nodes nodes) {
      ask_all(
          std::move(nodes), "/v1/events", event_answer_time,
          [this](const ClusterView::Nodes& known, const std::vector<ClusterView::Answer>& answers) {
            begin_rows(known, answers);
          });
    }));
  }

  // There is room in the outbox again.
  void go_on() {
    if (phase_ == Phase::Snapshot && has_to_go_on_) {
      has_to_go_on_ = false;
      tell_next_page();
    }
    if (phase_ == Phase::Live) ask_for_events();
  }

  void end() {
    phase_ = Phase::Ended;
    ++round_;
    look_timer_.cancel();
    retry_timer_.cancel();
    watched_.clear();
  }

 private:
  enum class Phase : std::uint8_t { Snapshot, Live, Gapped, Ended };
  struct Watched {
    NodeRow node;
    std::uint64_t after = 0;
    bool is_asked = false;
    bool is_told_silent = false;
    Instant retry_at{};
  };

  Core& core() const { return cluster_.core(); }
  Instant in(Duration time) const { return core().now() + time; }

  template <typename Take>
  void ask_all(ClusterView::Nodes nodes, const std::string& target, Duration time, Take take) {
    cluster_.ask_all(std::move(nodes), {target, options_.client}, in(time),
                     in_this_round(std::move(take)));
  }

  // False: there is no room for more.
  bool say(std::string message) {
    std::function<void()> wake;
    bool has_room = true;
    {
      std::lock_guard lock(outbox_->mutex);
      outbox_->bytes += message.size();
      outbox_->messages.push_back(std::move(message));
      has_room = outbox_->bytes < queued_bytes;
      outbox_->is_full = outbox_->is_full || !has_room;
      wake = outbox_->wake;
    }
    wake();
    return has_room;
  }

  bool has_room() const {
    std::lock_guard lock(outbox_->mutex);
    return !outbox_->is_full;
  }

  // The snapshot.

  void begin_rows(const ClusterView::Nodes& nodes,
                  const std::vector<ClusterView::Answer>& answers) {
    JsonWriter json;
    begin_message(json, "snapshot_begin");
    json.begin_array("nodes");
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const auto numbers = answers[i] ? parse_numbers(answers[i]->next) : std::nullopt;
      Watched& watched =
          watched_.try_emplace(rid_of(nodes[i]), Watched{.node = nodes[i]}).first->second;
      if (numbers) {
        watched.after = numbers->last;
      } else {
        note_unanswered(nodes[i].descriptor.stamp.rid,
                        answers[i] ? "its answer is unsound" : answers[i].error().message());
        watched.is_told_silent = true;
        // Its events of before are lost to this watcher: a snapshot shows what they have come to.
        watched.after = no_number;
      }
      json.begin_object();
      json.field("node", rid_of(nodes[i]));
      json.field("state", objects::name_of(nodes[i].descriptor.state));
      json.field("version", nodes[i].descriptor.application_version);
      json.field("is_self", nodes[i].is_self);
      json.field("has_answered", numbers.has_value());
      json.end_object();
    }
    json.end_array();
    end_message(json);
    list_ = options_.tells_rows ? 0 : snapshot_lists.size();
    cursor_.reset();
    tell_next_page();
  }

  void tell_next_page() {
    if (list_ == snapshot_lists.size()) return end_snapshot();
    if (!has_room()) {
      has_to_go_on_ = true;
      return;
    }
    ListWanted wanted{.list = snapshot_lists.at(list_)};
    wanted.limit = snapshot_rows;
    wanted.from = cursor_;
    list_page(cluster_, std::move(wanted), options_.client, in(snapshot_page_time),
              in_this_round([this](Result<ListPage> page) {
                if (page) tell_page(*std::move(page));
              }));
  }

  void tell_page(ListPage page) {
    for (const Unanswered& each : page.unanswered) note_unanswered(each.node, each.reason);
    if (!page.rows.empty()) {
      JsonWriter json;
      begin_message(json, "rows");
      json.field("list", name_of(snapshot_lists.at(list_)));
      json.begin_array("rows");
      for (const std::string& row : page.rows) json.raw(row);
      json.end_array();
      end_message(json);
    }
    cursor_ = page.next ? parse_list_cursor(*page.next) : std::nullopt;
    if (!cursor_) ++list_;
    tell_next_page();
  }

  void note_unanswered(const NodeRid& node, const std::string& reason) {
    unanswered_.emplace(node.text, reason);
  }

  void end_snapshot() {
    JsonWriter json;
    begin_message(json, "snapshot_end");
    json.begin_array("unanswered");
    for (const auto& [node, reason] : unanswered_) {
      json.begin_object();
      json.field("node", node);
      json.field("reason", reason);
      json.end_object();
    }
    json.end_array();
    end_message(json);
    phase_ = Phase::Live;
    looks_ = 0;
    look_timer_.arm(in(look_interval));
    ask_for_events();
  }

  // The events.

  void ask_for_events() {
    if (!has_room()) return;
    for (auto& [rid, watched] : watched_) {
      if (!watched.is_asked && core().now() >= watched.retry_at) ask_for_events(rid, watched);
    }
  }

  void ask_for_events(const std::string& rid, Watched& watched) {
    watched.is_asked = true;
    std::string target = "/v1/events";
    if (watched.after != no_number) {
      target +=
          fmt::format("?after={}&wait={}ms", watched.after,
                      std::chrono::duration_cast<std::chrono::milliseconds>(event_wait).count());
    }
    cluster_.ask(watched.node, {target, options_.client}, in(event_answer_time),
                 in_this_round(
                     [this, rid](const ClusterView::Answer& answer) { take_events(rid, answer); }));
  }

  void take_events(const std::string& rid, const ClusterView::Answer& answer) {
    const auto found = watched_.find(rid);
    if (found == watched_.end() || phase_ != Phase::Live) return;
    Watched& watched = found->second;
    watched.is_asked = false;
    const auto numbers = answer ? parse_numbers(answer->next) : std::nullopt;
    if (!numbers) {
      tell_silent(rid, watched, answer ? "its answer is unsound" : answer.error().message());
      watched.retry_at = in(retry_pause);
      retry_timer_.arm(watched.retry_at);
      return;
    }
    if (std::exchange(watched.is_told_silent, false)) {
      JsonWriter json;
      begin_message(json, "answers");
      json.field("node", rid);
      end_message(json);
    }
    const bool is_new = watched.after == no_number;
    if (!is_new && numbers->first > watched.after + 1) {
      return tell_gap(rid, numbers->first - watched.after - 1);
    }
    watched.after = numbers->last;
    for (const std::string& row : answer->rows) tell_event(rid, row);
    go_on();
  }

  void tell_event(const std::string& rid, const std::string& row) {
    if (rid != cluster_.self().text && is_of_another_node(row)) return;
    JsonWriter json;
    begin_message(json, "event");
    json.field("number", ++number_);
    json.field("node", rid);
    json.raw_field("event", row);
    end_message(json);
  }

  void tell_silent(const std::string& rid, Watched& watched, const std::string& reason) {
    if (std::exchange(watched.is_told_silent, true)) return;
    JsonWriter json;
    begin_message(json, "unanswered");
    json.field("node", rid);
    json.field("reason", reason);
    end_message(json);
  }

  void tell_gap(const std::string& rid, std::uint64_t missed) {
    phase_ = Phase::Gapped;
    ++round_;
    look_timer_.cancel();
    JsonWriter json;
    begin_message(json, "gap");
    json.field("node", rid);
    json.field("missed", missed);
    end_message(json);
  }

  void look() {
    if (phase_ != Phase::Live) return;
    look_timer_.arm(in(look_interval));
    cluster_.nodes(in_this_round([this](const ClusterView::Nodes& nodes) { take_nodes(nodes); }));
    if (++looks_ % looks_per_queues == 0 && has_room()) ask_for_queues();
  }

  void take_nodes(const ClusterView::Nodes& nodes) {
    std::erase_if(watched_,
                  [&](const auto& each) { return find_node(nodes, each.first) == nullptr; });
    for (const NodeRow& node : nodes) {
      // Of one that has come since, everything is news.
      watched_.try_emplace(rid_of(node), Watched{.node = node}).first->second.node = node;
    }
    ask_for_events();
  }

  void ask_for_queues() {
    ClusterView::Nodes nodes;
    for (const auto& [rid, watched] : watched_) {
      if (!watched.is_told_silent) nodes.push_back(watched.node);
    }
    ask_all(
        std::move(nodes), "/v1/queues", node_answer_time,
        [this](const ClusterView::Nodes& asked, const std::vector<ClusterView::Answer>& answers) {
          if (phase_ == Phase::Live) tell_queues(asked, answers);
        });
  }

  void tell_queues(const ClusterView::Nodes& nodes,
                   const std::vector<ClusterView::Answer>& answers) {
    JsonWriter json;
    begin_message(json, "queues");
    json.begin_array("nodes");
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if (!answers[i]) continue;
      json.begin_object();
      json.field("node", rid_of(nodes[i]));
      json.begin_array("rows");
      for (const std::string& row : answers[i]->rows) json.raw(row);
      json.end_array();
      json.end_object();
    }
    json.end_array();
    end_message(json);
  }

  static void begin_message(JsonWriter& json, std::string_view type) {
    json.begin_object();
    json.field("type", type);
  }
  void end_message(JsonWriter& json) {
    json.end_object();
    say(json.take_value());
  }

  static constexpr std::uint64_t no_number = ~std::uint64_t{0};

  const ClusterView cluster_;
  const FeedOptions options_;
  const std::shared_ptr<Outbox> outbox_;
  objects::StrandTimer look_timer_;
  objects::StrandTimer retry_timer_;
  Phase phase_ = Phase::Snapshot;
  std::uint64_t round_ = 0;
  std::uint64_t number_ = 0;
  unsigned looks_ = 0;
  std::map<std::string, Watched> watched_;
  std::map<std::string, std::string> unanswered_;
  std::size_t list_ = 0;
  std::optional<ListCursor> cursor_;
  bool has_to_go_on_ = false;
};

EventFeed::EventFeed(const ClusterView& cluster, FeedOptions options, std::function<void()> wake)
    : cluster_(cluster),
      outbox_(std::make_shared<Outbox>()),
      run_(std::make_shared<Run>(cluster, std::move(options), outbox_)) {
  outbox_->wake = std::move(wake);
  ask_snapshot();
}

EventFeed::~EventFeed() { end(); }

std::optional<std::string> EventFeed::next() {
  bool is_room_again = false;
  std::optional<std::string> message;
  {
    std::lock_guard lock(outbox_->mutex);
    if (outbox_->messages.empty()) return {};
    message = std::move(outbox_->messages.front());
    outbox_->messages.pop_front();
    outbox_->bytes -= message->size();
    is_room_again = outbox_->is_full && outbox_->bytes < queued_bytes / 2;
    if (is_room_again) outbox_->is_full = false;
  }
  if (is_room_again && run_) {
    cluster_.core().link->post([run = run_](Core&) { run->go_on(); });
  }
  return message;
}

void EventFeed::ask_snapshot() {
  if (!run_) return;
  cluster_.core().link->post([run = run_](Core&) { run->begin_snapshot(); });
}

// The run has timers of the strand, and ends there.
void EventFeed::end() {
  if (const auto run = std::exchange(run_, nullptr)) {
    cluster_.core().link->post([run](Core&) { run->end(); });
  }
}

}  // namespace spotmesh::host
