#include "objects/subscriptions.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "objects/core.hpp"
#include "objects/node_directory.hpp"
#include "objects/peer_port.hpp"
#include "objects/peer_topics.hpp"
#include "objects/spot_cell.hpp"
#include "objects/subscribers.hpp"
#include "objects/subscription_notice.hpp"

namespace spotmesh::objects {

using location::OwnerStamp;
using location::TopicSide;

Subscriptions::~Subscriptions() = default;

void Subscriptions::announce(const SpotCell& spot, std::function<void()> done) {
  const auto topics = spot.type().handlers.topics();
  if (!core_.peers->has_peers() || topics.empty()) return done();
  auto announced = std::make_shared<Announced>();
  announced->done = std::move(done);
  announced_.emplace(&spot, announced);
  for (const registration::Topic& topic : topics) hold({spot.mesh().name, topic}, announced);
  if (announced->unknown_topics == 0) {
    if (const auto told = std::exchange(announced->done, nullptr)) told();
  }
}

void Subscriptions::hold(const TopicKey& key, const std::shared_ptr<Announced>& announced) {
  Interest& interest = interests_[key];
  if (!interest.is_known) {
    ++announced->unknown_topics;
    interest.waiting.push_back(announced);
  }
  if (++interest.spots > 1) return;
  if (interest.mark == nullptr) {
    interest.mark = std::make_shared<TopicMarkRun>(
        core_, key, TopicSide::Subscribers,
        TopicMarkRun::Events{
            .standing = [this, key](const auto& others) { on_standing(key, others); },
            .cleared = [this, key](const auto& others) { on_cleared(key, others); },
            .delayed =
                [this, key](const Error& reason) {
                  core_.log(LogLevel::Info, fmt::format("the mark of {} takes longer: {}",
                                                        name_of(key), reason.message()));
                }});
  }
  const auto mark = interest.mark;
  mark->feed(location::topic_mark::Set{});
}

void Subscriptions::begin(SpotCell& spot) { core_.subscribers->add(spot); }

void Subscriptions::end(const SpotCell& spot) {
  core_.subscribers->remove(spot);
  if (announced_.erase(&spot) == 0) return;
  for (const registration::Topic& topic : spot.type().handlers.topics()) {
    let_go({spot.mesh().name, topic});
  }
}

void Subscriptions::let_go(const TopicKey& key) {
  Interest& interest = interests_.at(key);
  if (--interest.spots > 0) return;
  interest.is_known = false;
  interest.notices.clear();
  interest.waiting.clear();
  const auto mark = interest.mark;
  mark->feed(location::topic_mark::Clear{});
}

// Called again in each new epoch of the store: telling twice does no harm.
void Subscriptions::on_standing(const TopicKey& key, const std::vector<OwnerStamp>& publishers) {
  Interest& interest = interests_.at(key);
  if (interest.spots == 0) return;
  interest.notices.clear();
  for (const OwnerStamp& publisher : publishers) {
    interest.notices.emplace(
        peer_of(publisher),
        std::make_shared<SubscriptionNotice>(core_, key, publisher, [this, key] { look(key); }));
  }
  const auto notices = interest.notices;
  for (const auto& [peer, notice] : notices) notice->begin();
  look(key);
}

// Whoever is told that his Spot is known may end it, and with it the notices.
void Subscriptions::look(const TopicKey& key) {
  const auto found = interests_.find(key);
  if (found == interests_.end() || found->second.is_known) return;
  Interest& interest = found->second;
  if (!std::ranges::all_of(interest.notices,
                           [](const auto& each) { return each.second->is_settled(); })) {
    return;
  }
  interest.is_known = true;
  for (const auto& waiting : std::exchange(interest.waiting, {})) {
    const auto announced = waiting.lock();
    if (announced == nullptr || --announced->unknown_topics > 0) continue;
    if (const auto done = std::exchange(announced->done, nullptr)) done();
  }
}

void Subscriptions::on_cleared(const TopicKey& key, const std::vector<OwnerStamp>& publishers) {
  for (const OwnerStamp& publisher : publishers) correct(peer_of(publisher), key, [] {});
  const auto found = interests_.find(key);
  if (found != interests_.end() && found->second.spots == 0) interests_.erase(found);
}

// Whoever misses it learns it from the answer to his next publication.
void Subscriptions::correct(const mesh::Peer& publisher, const TopicKey& key,
                            std::function<void()> done) {
  const auto found = interests_.find(key);
  if (found != interests_.end() && found->second.spots > 0) return done();
  const auto body = topic_change(key, false);
  const auto sent = core_.peers->call(
      publisher, mesh::Lane::Control, PeerKind::TopicChange, &body, Instant::max(),
      on_strand(core_, [done](const Result<PeerMessage>&) { done(); }));
  if (!sent) done();
}

void Subscriptions::on_reasserted() {
  std::vector<std::shared_ptr<TopicMarkRun>> marks;
  for (const auto& [key, interest] : interests_) marks.push_back(interest.mark);
  for (const auto& mark : marks) mark->feed(location::topic_mark::Assert{});
}

void Subscriptions::append_marks(std::vector<location::Condition>& records) const {
  for (const auto& [key, interest] : interests_) {
    if (auto mark = interest.mark->machine().mark()) records.push_back(*std::move(mark));
  }
}

}  // namespace spotmesh::objects
