#include "objects/topic_reach.hpp"

#include <utility>

#include "location/authority.hpp"
#include "location/beat_watch.hpp"
#include "location/topic_record.hpp"
#include "objects/core.hpp"
#include "objects/lease_driver.hpp"
#include "objects/node_directory.hpp"
#include "objects/peer_port.hpp"
#include "objects/store_port.hpp"

namespace spotmesh::objects {
namespace {

constexpr Duration look_interval = std::chrono::milliseconds(50);

// One mark's run is looked for. Kept by whatever it waits for.
class Search final : public std::enable_shared_from_this<Search> {
 public:
  Search(Core& core, std::string mark, location::OwnerStamp stamp, Instant until,
         std::function<void(Reach)> done)
      : core_(core),
        mark_(std::move(mark)),
        stamp_(std::move(stamp)),
        lease_key_(location::keys::lease(stamp_.owner)),
        until_(until),
        done_(std::move(done)),
        timer_(core, [this] { fire(); }) {}

  void begin() {
    const mesh::Peer peer = peer_of(stamp_);
    const bool is_known = core_.directory->address_of(peer).has_value();
    if (is_known && !core_.peers->is_over(peer)) return done_(Reach::Known);
    core_.store->read({lease_key_},
                      [self = shared_from_this()](const Result<location::ReadResult>& result) {
                        self->on_lease(result);
                      });
  }

 private:
  void on_lease(const Result<location::ReadResult>& result) {
    if (result && is_over(*result)) {
      core_.directory->owner_over(stamp_);
      remove_mark(result->values.front());
      return done_(Reach::Over);
    }
    if (core_.peers->is_over(peer_of(stamp_))) return done_(Reach::Over);
    core_.directory->want(stamp_.rid);
    look();
  }

  bool is_over(const location::ReadResult& result) const {
    const location::LeaseView& own = core_.lease->view();
    if (result.epoch != own.epoch || core_.now() < own.quiet_until) return false;
    const auto& stored = result.values.front();
    if (!stored.has_value()) return true;
    auto lease = location::decode_lease(lease_key_, stored->value);
    return lease && location::is_over(
                        location::run_of(stamp_),
                        {.lease = *lease, .lease_version = stored->version, .beat_version = {}});
  }

  // On condition that the lease is still as it was read. Whoever reads the mark next does it again
  // if this fails.
  void remove_mark(const std::optional<location::StoredValue>& lease) {
    if (!core_.lease->view().admits(core_.now())) return;
    location::Commit commit = location::owned_commit(core_.lease->view());
    commit.conditions.push_back(
        {lease_key_, lease.has_value() ? std::optional(lease->version) : std::nullopt});
    commit.writes.push_back({mark_, std::nullopt});
    core_.store->commit(std::move(commit), [](const location::CommitResult&) {});
  }

  void look() {
    if (core_.directory->address_of(peer_of(stamp_)).has_value()) return done_(Reach::Known);
    if (core_.now() >= until_) return done_(Reach::Unknown);
    core_.store->keep(shared_from_this());
    timer_.arm(std::min(core_.now() + look_interval, until_));
  }

  void fire() {
    const auto self = shared_from_this();
    core_.store->let_go(this);
    look();
  }

  Core& core_;
  const std::string mark_;
  const location::OwnerStamp stamp_;
  const std::string lease_key_;
  const Instant until_;
  const std::function<void(Reach)> done_;
  StrandTimer timer_;
};

}  // namespace

void find_reach(Core& core, const TopicKey& key, location::TopicSide side,
                const location::OwnerStamp& stamp, Instant until, std::function<void(Reach)> done) {
  std::make_shared<Search>(core, location::keys::topic_mark(stored_name(key), side, stamp.rid),
                           stamp, until, std::move(done))
      ->begin();
}

}  // namespace spotmesh::objects
