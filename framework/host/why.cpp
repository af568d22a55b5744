#include "host/why.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "host/admin_json.hpp"
#include "host/cluster_list.hpp"
#include "host/json_writer.hpp"
#include "location/find.hpp"
#include "objects/core.hpp"
#include "objects/lease_driver.hpp"
#include "objects/registry.hpp"
#include "objects/store_operations.hpp"

namespace spotmesh::host {
namespace {

using location::FindOutcome;
using location::OwnerVerdict;
using location::Standing;
using objects::NodeRow;
using std::chrono::duration_cast;
using std::chrono::milliseconds;

constexpr std::size_t actors_most = 16;  // of a session, that are looked at
// What asking the nodes may take beside the look into the store.
constexpr Duration asking_time = 2 * node_answer_time;

std::string_view text_of(Standing standing) {
  switch (standing) {
    case Standing::Missing:
      return "Missing";
    case Standing::Creating:
      return "Creating";
    case Standing::Ready:
      return "Ready";
    case Standing::Unproven:
      return "Unproven";
    case Standing::Silent:
      return "Silent";
    case Standing::OwnerLost:
      return "OwnerLost";
  }
  return "unknown";
}

std::string_view text_of(OwnerVerdict verdict) {
  switch (verdict) {
    case OwnerVerdict::Unproven:
      return "Unproven";
    case OwnerVerdict::Alive:
      return "Alive";
    case OwnerVerdict::Silent:
      return "Silent";
    case OwnerVerdict::Fenced:
      return "Fenced";
  }
  return "unknown";
}

void nullable_field(JsonWriter& json, std::string_view key,
                    const std::optional<std::string>& text) {
  if (text) {
    json.field(key, *text);
  } else {
    json.null_field(key);
  }
}

void nullable_raw(JsonWriter& json, std::string_view key, const std::optional<std::string>& value) {
  if (value) {
    json.raw_field(key, *value);
  } else {
    json.null_field(key);
  }
}

// The owner in effect, or the last that the record names.
std::optional<location::OwnerStamp> owner_of(const FindOutcome& found) {
  if (found.owner) return found.owner;
  if (found.authority) return found.authority->record.owner;
  return {};
}

void write_record(JsonWriter& json, const FindOutcome& found) {
  json.begin_object("record");
  json.field("standing", text_of(found.standing));
  if (found.authority) {
    const location::AuthorityRecord& record = found.authority->record;
    json.field("type", record.stable_type.text());
    json.field("mesh", record.mesh);
    json.exact_field("object_generation", record.object_generation.value);
    json.exact_field("owner_generation", record.owner_generation.value);
    json.exact_field("takeover_count", record.takeover_count);
    if (record.membership) {
      json.begin_object("spot");
      json.field("id", record.membership->spot.text());
      json.exact_field("object_generation", record.membership->spot_generation.value);
      json.end_object();
    } else {
      json.null_field("spot");
    }
  }
  if (const auto owner = owner_of(found)) {
    json.begin_object("owner");
    json.field("node", owner->rid.text);
    json.field("lifecycle", to_string(owner->lifecycle));
    json.exact_field("lease_generation", owner->lease_generation.value);
    json.end_object();
  } else {
    json.null_field("owner");
  }
  json.end_object();
}

// What lives here needs no store to be found, but for whoever wants to know what the store says.
enum class Look { IntoStore, HereFirst };

// Looks an Actor up and finds the row of its owner. Kept by what it waits for.
class OwnerSearch final : public std::enable_shared_from_this<OwnerSearch> {
 public:
  struct Found {
    Result<FindOutcome> record;
    std::optional<NodeRow> owner;  // empty: this node does not know it
  };
  using Done = std::function<void(Found)>;

  OwnerSearch(const ClusterView& cluster, const ActorId& id, Look look, Instant deadline, Done done)
      : cluster_(cluster), id_(id), look_(look), deadline_(deadline), done_(std::move(done)) {}

  void begin() {
    cluster_.core().strand.post([self = shared_from_this()] {
      if (self->look_ == Look::HereFirst && self->is_here()) {
        return self->take_record(fail(Error::unavailable("the store was not asked")));
      }
      self->cluster_.core().operations->find(
          location::ObjectKey::of(self->id_), self->deadline_,
          [self](Result<FindOutcome> record) { self->take_record(std::move(record)); });
    });
  }

 private:
  bool is_here() const { return cluster_.core().registry->find_actor(id_.text()).get() != nullptr; }

  void take_record(Result<FindOutcome> record) {
    cluster_.nodes([self = shared_from_this(),
                    record = std::move(record)](const ClusterView::Nodes& nodes) mutable {
      Found found{std::move(record), {}};
      const bool is_here = self->is_here();
      const auto stamp = found.record ? owner_of(*found.record) : std::nullopt;
      const auto is_it = [&](const NodeRow& node) {
        return is_here ? node.is_self : stamp && node.descriptor.stamp == *stamp;
      };
      const auto owner = std::ranges::find_if(nodes, is_it);
      if (owner != nodes.end()) found.owner = *owner;
      self->done_(std::move(found));
    });
  }

  const ClusterView cluster_;
  const ActorId id_;
  const Look look_;
  const Instant deadline_;
  const Done done_;
};

class ActorStory final : public std::enable_shared_from_this<ActorStory> {
 public:
  using Done = std::function<void(std::string)>;

  ActorStory(const ClusterView& cluster, const ActorId& id, std::string client, Instant deadline,
             Done done)
      : cluster_(cluster),
        id_(id),
        client_(std::move(client)),
        deadline_(deadline),
        done_(std::move(done)) {}

  void begin() {
    std::make_shared<OwnerSearch>(
        cluster_, id_, Look::IntoStore, deadline_ - asking_time,
        [self = shared_from_this()](OwnerSearch::Found found) { self->take(std::move(found)); })
        ->begin();
  }

 private:
  Instant answer_deadline() const {
    return std::min(deadline_, cluster_.core().now() + node_answer_time);
  }

  void take(OwnerSearch::Found found) {
    found_ = std::move(found);
    if (!found_->owner) return finish();
    cluster_.ask(*found_->owner, {"/v1/why/actors/" + percent_encode(id_.text()), client_},
                 answer_deadline(), [self = shared_from_this()](const ClusterView::Answer& answer) {
                   self->take_report(answer);
                 });
  }

  void take_report(const ClusterView::Answer& answer) {
    if (!answer) {
      report_reason_ = answer.error().message();
      return finish();
    }
    if (answer->rows.size() != 1) {
      report_reason_ = "the node's answer is not one row";
      return finish();
    }
    report_ = answer->rows.front();
    const auto parsed = nlohmann::json::parse(*report_, nullptr, false);
    const auto text_at = [&](const char* key) {
      const nlohmann::json::json_pointer where(std::string("/actor/binding/") + key);
      return parsed.is_object() && parsed.contains(where) && parsed.at(where).is_string()
                 ? parsed.at(where).get<std::string>()
                 : std::string();
    };
    ask_session(text_at("session"), text_at("node"));
  }

  void ask_session(const std::string& session, const std::string& rid) {
    if (session.empty()) return finish();
    cluster_.nodes([self = shared_from_this(), session, rid](const ClusterView::Nodes& nodes) {
      const NodeRow* node = find_node(nodes, rid);
      if (node == nullptr) {
        self->session_reason_ = fmt::format("node {} is not known here", rid);
        return self->finish();
      }
      self->cluster_.ask(*node, {"/v1/sessions?id=" + percent_encode(session), self->client_},
                         self->answer_deadline(),
                         [self](const ClusterView::Answer& answer) { self->take_session(answer); });
    });
  }

  void take_session(const ClusterView::Answer& answer) {
    if (!answer) {
      session_reason_ = answer.error().message();
    } else if (answer->rows.empty()) {
      session_reason_ = "its node has no such session any more";
    } else {
      session_ = answer->rows.front();
    }
    finish();
  }

  void write_owner(JsonWriter& json) const {
    const auto stamp = found_->owner     ? std::optional(found_->owner->descriptor.stamp)
                       : !found_->record ? std::nullopt
                                         : owner_of(*found_->record);
    if (!stamp) return json.null_field("owner");
    const bool is_self = stamp->rid == cluster_.self();
    const OwnerVerdict verdict = is_self ? OwnerVerdict::Alive
                                         : cluster_.core().lease->environment().owners.verdict(
                                               location::run_of(*stamp), cluster_.core().now());
    json.begin_object("owner");
    json.field("node", stamp->rid.text);
    json.field("is_self", is_self);
    json.field("is_known", found_->owner.has_value());
    json.field("verdict", text_of(verdict));
    if (found_->owner) {
      json.field("is_reachable", found_->owner->is_reachable);
      json.field("state", objects::name_of(found_->owner->descriptor.state));
      json.field("address", found_->owner->descriptor.advertised_address);
    }
    json.end_object();
  }

  void finish() {
    const location::LeaseConfig& lease = cluster_.core().config.lease;
    JsonWriter json;
    json.begin_object();
    json.field("actor", id_.text());
    json.field("node", cluster_.self().text);
    json.field("lease_ttl_ms", duration_cast<milliseconds>(lease.ttl).count());
    json.field("lease_margin_ms", duration_cast<milliseconds>(lease.margin).count());
    if (found_->record) {
      write_record(json, *found_->record);
      json.null_field("record_error");
    } else {
      json.null_field("record");
      json.field("record_error", found_->record.error().message());
    }
    write_owner(json);
    nullable_raw(json, "report", report_);
    nullable_field(json, "report_reason", report_reason_);
    nullable_raw(json, "session", session_);
    nullable_field(json, "session_reason", session_reason_);
    json.end_object();
    done_(json.take());
  }

  const ClusterView cluster_;
  const ActorId id_;
  const std::string client_;
  const Instant deadline_;
  const Done done_;
  std::optional<OwnerSearch::Found> found_;
  std::optional<std::string> report_;
  std::optional<std::string> report_reason_;
  std::optional<std::string> session_;
  std::optional<std::string> session_reason_;
};

class SessionStory final : public std::enable_shared_from_this<SessionStory> {
 public:
  using Done = std::function<void(std::string)>;

  SessionStory(const ClusterView& cluster, const SessionId& id, std::string client,
               Instant deadline, Done done)
      : cluster_(cluster),
        id_(to_string(id)),
        client_(std::move(client)),
        deadline_(deadline),
        done_(std::move(done)) {}

  void begin() {
    ListWanted wanted{.list = PageOf::Sessions};
    wanted.is_of_one = true;
    wanted.filters = "&id=" + id_;
    list_page(cluster_, std::move(wanted), client_, deadline_ - asking_time,
              [self = shared_from_this()](Result<ListPage> page) {
                // Nothing is NotFound where no single node is asked for.
                if (page) self->page_ = *std::move(page);
                self->cluster_.nodes(
                    [self](ClusterView::Nodes nodes) { self->take_nodes(std::move(nodes)); });
              });
  }

 private:
  struct BoundActor {
    std::string id;
    std::string node;
    std::optional<std::string> row;
    std::optional<std::string> reason;
  };

  void take_nodes(ClusterView::Nodes nodes) {
    nodes_ = std::move(nodes);
    if (!page_.rows.empty()) {
      const auto row = nlohmann::json::parse(page_.rows.front(), nullptr, false);
      for (const auto& actor : row.value("actors", nlohmann::json::array())) {
        if (actors_.size() == actors_most) break;
        actors_.push_back({actor.value("id", ""), actor.value("node", ""), {}, {}});
      }
    }
    unanswered_ = actors_.size();
    if (actors_.empty()) return finish();
    for (std::size_t i = 0; i < actors_.size(); ++i) ask_actor(i);
  }

  void ask_actor(std::size_t which) {
    const NodeRow* node = find_node(nodes_, actors_[which].node);
    const auto take = [self = shared_from_this(), which](const ClusterView::Answer& answer) {
      BoundActor& actor = self->actors_[which];
      if (!answer) {
        actor.reason = answer.error().message();
      } else if (answer->rows.empty()) {
        actor.reason = "it does not live there any more";
      } else {
        actor.row = answer->rows.front();
      }
      if (--self->unanswered_ == 0) self->finish();
    };
    if (node == nullptr) {
      cluster_.core().strand.post([take, rid = actors_[which].node] {
        take(fail(Error::unavailable(fmt::format("node {} is not known here", rid))));
      });
      return;
    }
    cluster_.ask(*node, {"/v1/actors?id=" + percent_encode(actors_[which].id), client_},
                 std::min(deadline_, cluster_.core().now() + node_answer_time), take);
  }

  void finish() {
    JsonWriter json;
    json.begin_object();
    json.field("session", id_);
    json.field("node", cluster_.self().text);
    nullable_raw(json, "row",
                 page_.rows.empty() ? std::nullopt : std::optional(page_.rows.front()));
    json.begin_array("unanswered");
    for (const Unanswered& each : page_.unanswered) {
      json.begin_object();
      json.field("node", each.node.text);
      json.field("reason", each.reason);
      json.end_object();
    }
    json.end_array();
    json.begin_array("actors");
    for (const BoundActor& actor : actors_) {
      json.begin_object();
      json.field("id", actor.id);
      json.field("node", actor.node);
      nullable_raw(json, "row", actor.row);
      nullable_field(json, "reason", actor.reason);
      json.end_object();
    }
    json.end_array();
    json.end_object();
    done_(json.take());
  }

  const ClusterView cluster_;
  const std::string id_;
  const std::string client_;
  const Instant deadline_;
  const Done done_;
  ListPage page_;
  ClusterView::Nodes nodes_;
  std::vector<BoundActor> actors_;
  std::size_t unanswered_ = 0;
};

}  // namespace

void find_owner(const ClusterView& cluster, const ActorId& id, Instant deadline,
                std::function<void(Result<objects::NodeRow>)> done) {
  const auto take = [id, done = std::move(done)](OwnerSearch::Found found) {
    if (found.owner && found.owner->is_self) return done(*std::move(found.owner));
    if (!found.record) return done(fail(found.record.error()));
    if (auto error = objects::error_of(*found.record, fmt::format("Actor '{}'", id.text()))) {
      return done(fail(*std::move(error)));
    }
    if (found.owner) return done(*std::move(found.owner));
    done(fail(Error::unavailable(
        fmt::format("Actor '{}' lives on node {}, which is not known here", id.text(),
                    found.record->owner ? found.record->owner->rid.text : "?"))));
  };
  std::make_shared<OwnerSearch>(cluster, id, Look::HereFirst, deadline, take)->begin();
}

void explain_actor(const ClusterView& cluster, const ActorId& id, std::string client,
                   Instant deadline, std::function<void(std::string)> done) {
  std::make_shared<ActorStory>(cluster, id, std::move(client), deadline, std::move(done))->begin();
}

void explain_session(const ClusterView& cluster, const SessionId& id, std::string client,
                     Instant deadline, std::function<void(std::string)> done) {
  std::make_shared<SessionStory>(cluster, id, std::move(client), deadline, std::move(done))
      ->begin();
}

}  // namespace spotmesh::host
