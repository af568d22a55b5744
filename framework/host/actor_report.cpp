#include "host/actor_report.hpp"

#include <fmt/format.h>

#include <chrono>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "host/admin_json.hpp"
#include "host/json_writer.hpp"
#include "objects/inspection.hpp"
#include "objects/lease_driver.hpp"
#include "objects/object_name.hpp"
#include "objects/requests.hpp"

namespace spotmesh::host {
namespace {

using std::chrono::duration_cast;
using std::chrono::milliseconds;

constexpr std::size_t recent_events = 10;
constexpr std::size_t requests_most = 100;
constexpr std::size_t members_most = 1000;

// Gathers in steps, each a job of the strand; kept by the step that is under way.
class Report final : public std::enable_shared_from_this<Report> {
 public:
  using Done = std::function<void(Result<std::string>)>;

  Report(objects::Core& core, const EventRing& events, const ActorId& id, Done done)
      : core_(core), events_(events), id_(id), done_(std::move(done)) {}

  void begin() {
    objects::PageWanted wanted;
    wanted.id = id_.text();
    objects::Inspection(core_).actors(
        std::move(wanted), [self = shared_from_this()](objects::Page<objects::ActorRow> page) {
          self->take_actor(std::move(page));
        });
  }

 private:
  void take_actor(objects::Page<objects::ActorRow> page) {
    if (page.rows.empty()) {
      return done_(fail(Error::not_found(fmt::format("Actor '{}' does not live on node {}",
                                                     id_.text(), core_.identity.rid.text))));
    }
    actor_ = std::move(page.rows.front());
    if (!actor_->spot) return finish();
    objects::PageWanted wanted;
    wanted.id = actor_->spot->spot_id.text();
    objects::Inspection(core_).spots(
        std::move(wanted), [self = shared_from_this()](objects::Page<objects::SpotRow> page) {
          self->take_spot(std::move(page));
        });
  }

  // What runs on a gate that the Spot shares with its members keeps this one waiting, too.
  void take_spot(objects::Page<objects::SpotRow> page) {
    if (page.rows.empty()) return finish();
    spot_ = std::move(page.rows.front());
    if (!spot_->shares_gate) return finish();
    objects::PageWanted wanted;
    wanted.limit = members_most;
    wanted.spot = spot_->ref.spot_id.text();
    objects::Inspection(core_).actors(
        std::move(wanted),
        [self = shared_from_this()](const objects::Page<objects::ActorRow>& members) {
          for (const auto& member : members.rows) {
            if (member.ref.actor_id == self->id_ || !member.mailbox.running) continue;
            self->running_members_.push_back(member);
          }
          self->finish();
        });
  }

  void write_lease(JsonWriter& json) const {
    const location::LeaseView& lease = core_.lease->view();
    json.begin_object("lease");
    json.field("is_held", lease.is_held);
    const Instant now = core_.now();
    json.field("is_admitted", core_.admission.is_open(now));
    if (lease.stamp) {
      json.exact_field("generation", lease.stamp->lease_generation.value);
    } else {
      json.null_field("generation");
    }
    const Duration left =
        core_.admission.is_open(now) ? core_.admission.deadline() - now : Duration::zero();
    json.field("left_ms", duration_cast<milliseconds>(left).count());
    json.end_object();
  }

  void finish() {
    JsonWriter json;
    json.begin_object();
    json.field("node", core_.identity.rid.text);
    json.raw_field("actor", row_json(*actor_));
    write_lease(json);
    if (spot_) {
      json.raw_field("spot", row_json(*spot_));
    } else {
      json.null_field("spot");
    }
    json.begin_array("running_members");
    for (const auto& member : running_members_) json.raw(row_json(member));
    json.end_array();
    json.begin_array("waits_for");
    const objects::ObjectName self{objects::TargetKind::Actor, id_.text()};
    for (const auto& what : core_.requests->waited_for_by(self, requests_most)) json.text(what);
    json.end_array();
    json.begin_array("recent");
    for (const auto& row : events_.about(id_.text(), recent_events)) json.raw(row);
    json.end_array();
    json.end_object();
    done_(json.take_value());
  }

  objects::Core& core_;
  const EventRing& events_;
  const ActorId id_;
  const Done done_;
  std::optional<objects::ActorRow> actor_;
  std::optional<objects::SpotRow> spot_;
  std::vector<objects::ActorRow> running_members_;
};

}  // namespace

void report_actor(objects::Core& core, const EventRing& events, const ActorId& id,
                  std::function<void(Result<std::string>)> done) {
  std::make_shared<Report>(core, events, id, std::move(done))->begin();
}

}  // namespace spotmesh::host
