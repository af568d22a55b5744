#include "objects/publications.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include <spotmesh/limits.hpp>

#include "objects/core.hpp"
#include "objects/node_directory.hpp"
#include "objects/peer_port.hpp"
#include "objects/peer_topics.hpp"
#include "objects/subscribers.hpp"
#include "objects/subscriptions.hpp"
#include "runtime/turn.hpp"

namespace spotmesh::objects {

using location::OwnerStamp;
using location::TopicSide;

namespace {

constexpr Duration look_again_interval = std::chrono::seconds(1);
constexpr std::size_t corrections_under_way = 4096;

void accept(const Publications::Accepted& accepted, Result<void> result) {
  accepted->complete(std::move(result));
}

}  // namespace

Publications::Publications(Core& core) : core_(core), idle_timer_(core, [this] { forget_idle(); }) {
  core.peers->handle(PeerKind::Publication,
                     [this](const PeerMessage& message) { return receive(message); });
  core.peers->handle_on_strand(PeerKind::TopicChange,
                               [this](const PeerMessage& message) { return on_change(message); });
  core.peers->on_peer_ended([this](const mesh::Peer& peer, const Error&) {
    core_.strand.post([this, peer] { on_node_gone(peer); });
  });
  core.directory->on_gone([this](const mesh::Peer& peer, const Error&) { on_node_gone(peer); });
}

Publications::~Publications() = default;

void Publications::publish(const TopicKey& key, const Message& message, const Accepted& accepted) {
  core_.metrics.publications.add();
  core_.subscribers->deliver(key, message);
  if (!core_.peers->has_peers()) return accept(accepted, {});
  std::shared_ptr<const Nodes> nodes;
  {
    std::unique_lock lock(mutex_);
    auto audience = audiences_.find(key);
    if (audience == audiences_.end()) {
      if (audiences_.size() >= limits::published_topics) {
        lock.unlock();
        return accept(accepted, fail(Error::capacity_exceeded(
                                    fmt::format("{}: this node publishes about {} topics already",
                                                name_of(key), limits::published_topics))));
      }
      audience = audiences_.try_emplace(key).first;
      core_.strand.post([this, key] { start_search(key); });
    }
    Audience& to = audience->second;
    to.last_used = core_.now();
    if (to.is_known) {
      nodes = to.nodes;
    } else if (to.waiting.size() >= limits::publications_waiting_per_topic) {
      lock.unlock();
      return accept(accepted, fail(Error::capacity_exceeded(fmt::format(
                                  "{}: {} publications wait to learn where its subscribers are",
                                  name_of(key), limits::publications_waiting_per_topic))));
    } else {
      to.waiting.push_back({message, to.last_used + limits::default_operation_timeout, accepted});
    }
  }
  if (nodes == nullptr) return;
  send(key, *nodes, message);
  accept(accepted, {});
}

void Publications::send(const TopicKey& key, const Nodes& nodes, const Message& message) {
  if (nodes.empty()) return;
  const auto body = publication(key, message);
  const SharedBytes bytes = peer_bytes(PeerKind::Publication, 0, &body);
  for (const mesh::Peer& node : nodes) {
    auto sent = core_.peers->send(node, mesh::Lane::Messages, bytes);
    if (sent) {
      core_.metrics.publication_copies.add();
      continue;
    }
    core_.metrics.missed_publications.add();
    core_.log(LogLevel::Warning,
              fmt::format("the subscribers at node {} miss '{}' about {}: {}", node.node.text,
                          message.packet_name(), name_of(key), sent.error().message()));
  }
}

// On the thread that brings the message. Whoever published must learn it when nobody is here.
Result<void> Publications::receive(const PeerMessage& message) {
  auto read = read_publication(message, core_.application);
  if (!read) return fail(read.error());
  if (core_.subscribers->deliver(read->topic, read->message)) return {};
  correct(message.from, std::move(read->topic));
  return {};
}

// One at a time for a node and topic: whoever goes on publishing meanwhile learns it from that one.
void Publications::correct(const mesh::Peer& publisher, TopicKey key) {
  Correction correction(publisher, std::move(key));
  {
    std::lock_guard lock(mutex_);
    if (corrections_.size() >= corrections_under_way) return;
    if (!corrections_.insert(correction).second) return;
  }
  const auto done = [this, correction] {
    std::lock_guard lock(mutex_);
    corrections_.erase(correction);
  };
  const bool is_posted = core_.peers->post(publisher, [correction, done](Core& core) {
    core.subscriptions->correct(correction.first, correction.second, done);
  });
  if (!is_posted) done();
}

Result<void> Publications::on_change(const PeerMessage& message) {
  auto read = read_topic_change(message);
  if (!read) return fail(read.error());
  change(read->topic, message.from, read->has_subscriber);
  core_.peers->answer(message, mesh::Lane::Control, PeerKind::TopicChangeSeen, nullptr);
  return {};
}

void Publications::change(const TopicKey& key, const mesh::Peer& node, bool has_subscriber) {
  const auto found = searches_.find(key);
  if (found == searches_.end()) return;
  if (has_subscriber) {
    found->second.left.erase(node);
  } else {
    found->second.left.insert(node);
  }
  std::lock_guard lock(mutex_);
  const auto audience = audiences_.find(key);
  if (audience == audiences_.end()) return;
  Nodes nodes = *audience->second.nodes;
  std::erase(nodes, node);
  if (has_subscriber) nodes.insert(std::ranges::upper_bound(nodes, node), node);
  audience->second.nodes = std::make_shared<const Nodes>(std::move(nodes));
}

void Publications::start_search(const TopicKey& key) {
  Search& search = searches_[key];
  if (search.mark == nullptr) {
    search.mark = std::make_shared<TopicMarkRun>(
        core_, key, TopicSide::Publishers,
        TopicMarkRun::Events{
            .standing = [this, key](const auto& others) { on_standing(key, others); },
            .cleared = [this, key](const auto&) { on_cleared(key); },
            .delayed =
                [this, key](const Error& reason) {
                  searches_.at(key).delayed_by = reason.message();
                }});
    search.deadline = std::make_unique<StrandTimer>(core_, [this, key] { refuse_late(key); });
    search.next_look = std::make_unique<StrandTimer>(core_, [this, key] { look_again(key); });
  }
  search.left.clear();
  search.deadline->arm(core_.now() + limits::default_operation_timeout);
  if (!std::exchange(looks_for_idle_, true)) {
    idle_timer_.arm(core_.now() + limits::published_topic_idle_time);
  }
  const auto mark = search.mark;
  mark->feed(location::topic_mark::Set{});
}

void Publications::on_standing(const TopicKey& key, const std::vector<OwnerStamp>& subscribers) {
  Search& search = searches_.at(key);
  search.unreached = subscribers.size();
  search.out_of_reach.clear();
  const std::uint64_t round = ++search.round;
  if (subscribers.empty()) return learned(key, search);
  const Instant until = core_.now() + limits::subscription_notice_timeout;
  for (const OwnerStamp& stamp : subscribers) {
    find_reach(core_, key, TopicSide::Subscribers, stamp, until,
               [this, key, round, stamp](Reach reach) { on_reach(key, round, stamp, reach); });
  }
}

// Nobody waits for long for one that cannot be spoken to; it is looked for until it is found or its
// run is over.
void Publications::on_reach(const TopicKey& key, std::uint64_t round, const OwnerStamp& stamp,
                            Reach reach) {
  const auto found = searches_.find(key);
  if (found == searches_.end() || found->second.round != round) return;
  Search& search = found->second;
  take_reach(key, search, stamp, reach);
  if (--search.unreached == 0) learned(key, search);
}

void Publications::take_reach(const TopicKey& key, Search& search, const OwnerStamp& stamp,
                              Reach reach) {
  const mesh::Peer node = peer_of(stamp);
  if (reach == Reach::Over || search.left.contains(node)) return;
  if (reach == Reach::Known) return change(key, node, true);
  search.out_of_reach.push_back(stamp);
  search.next_look->arm(core_.now() + look_again_interval);
}

void Publications::look_again(const TopicKey& key) {
  Search& search = searches_.at(key);
  const std::uint64_t round = search.round;
  for (const OwnerStamp& stamp : std::exchange(search.out_of_reach, {})) {
    find_reach(core_, key, TopicSide::Subscribers, stamp, core_.now(),
               [this, key, round, stamp](Reach reach) {
                 const auto found = searches_.find(key);
                 if (found == searches_.end() || found->second.round != round) return;
                 take_reach(key, found->second, stamp, reach);
               });
  }
}

void Publications::learned(const TopicKey& key, Search& search) {
  search.delayed_by.clear();
  search.deadline->cancel();
  release_waiting(key);
}

// What has waited leaves outside any turn, so it waits for admission by itself.
class Publications::HeldBack final : public runtime::Flushable {
 public:
  HeldBack(Publications& publications, TopicKey key)
      : publications_(publications), key_(std::move(key)) {}
  void flush() override {
    publications_.core_.strand.post(
        [&publications = publications_, key = key_] { publications.release_waiting(key); });
  }

 private:
  Publications& publications_;
  const TopicKey key_;
};

void Publications::release_waiting(const TopicKey& key) {
  if (core_.is_stopped()) return refuse_all(core_.stopping_error());
  if (const Instant now = core_.now(); !core_.admission.is_open(now)) {
    return core_.admission.hold_flush({runtime::make_ref<HeldBack>(*this, key)}, now);
  }
  while (true) {
    std::deque<Waiting> batch;
    std::shared_ptr<const Nodes> nodes;
    {
      std::lock_guard lock(mutex_);
      const auto audience = audiences_.find(key);
      if (audience == audiences_.end()) return;
      Audience& to = audience->second;
      if (to.waiting.empty()) {
        to.is_known = true;
        return;
      }
      batch.swap(to.waiting);
      nodes = to.nodes;
    }
    for (const Waiting& waiting : batch) {
      send(key, *nodes, waiting.message);
      accept(waiting.accepted, {});
    }
  }
}

void Publications::refuse_late(const TopicKey& key) {
  const Instant now = core_.now();
  std::vector<Waiting> late;
  std::optional<Instant> next;
  {
    std::lock_guard lock(mutex_);
    const auto audience = audiences_.find(key);
    if (audience == audiences_.end()) return;
    auto& waiting = audience->second.waiting;
    while (!waiting.empty() && waiting.front().deadline <= now) {
      late.push_back(std::move(waiting.front()));
      waiting.pop_front();
    }
    if (!waiting.empty()) next = waiting.front().deadline;
    if (!audience->second.is_known && !next.has_value()) {
      next = now + limits::default_operation_timeout;
    }
  }
  Search& search = searches_.at(key);
  if (next.has_value()) search.deadline->arm(*next);
  const Error error = Error::unavailable(
      fmt::format("where the subscribers of {} are could not be learned in time{}{}", name_of(key),
                  search.delayed_by.empty() ? "" : ": ", search.delayed_by));
  for (const Waiting& waiting : late) accept(waiting.accepted, fail(error));
}

void Publications::refuse_all(const Error& error) {
  std::vector<Waiting> ended;
  {
    std::lock_guard lock(mutex_);
    for (auto& [key, audience] : audiences_) {
      std::ranges::move(audience.waiting, std::back_inserter(ended));
      audience.waiting.clear();
    }
  }
  for (const Waiting& waiting : ended) accept(waiting.accepted, fail(error));
}

// A topic nobody publishes about for a while is forgotten, so that its subscribers need not tell
// this node of themselves.
void Publications::forget_idle() {
  const Instant limit = core_.now() - limits::published_topic_idle_time;
  std::vector<TopicKey> idle;
  {
    std::lock_guard lock(mutex_);
    std::erase_if(audiences_, [&](const auto& each) {
      const auto& [key, audience] = each;
      const bool is_idle = audience.is_known && audience.last_used <= limit;
      if (is_idle) idle.push_back(key);
      return is_idle;
    });
  }
  for (const TopicKey& key : idle) {
    const auto mark = searches_.at(key).mark;
    mark->feed(location::topic_mark::Clear{});
  }
  looks_for_idle_ = !searches_.empty();
  if (looks_for_idle_) idle_timer_.arm(core_.now() + limits::published_topic_idle_time / 2);
}

void Publications::on_cleared(const TopicKey& key) {
  std::lock_guard lock(mutex_);
  if (!audiences_.contains(key)) searches_.erase(key);
}

void Publications::on_reasserted() {
  std::vector<std::shared_ptr<TopicMarkRun>> marks;
  for (auto& [key, search] : searches_) {
    // Whoever has come again may have done so where this node's mark was forgotten.
    search.left.clear();
    marks.push_back(search.mark);
  }
  for (const auto& mark : marks) mark->feed(location::topic_mark::Assert{});
}

void Publications::on_node_gone(const mesh::Peer& node) {
  std::vector<TopicKey> keys;
  for (auto& [key, search] : searches_) keys.push_back(key);
  for (const TopicKey& key : keys) {
    change(key, node, false);
    searches_.at(key).left.erase(node);
  }
}

void Publications::append_marks(std::vector<location::Condition>& records) const {
  for (const auto& [key, search] : searches_) {
    if (auto mark = search.mark->machine().mark()) records.push_back(*std::move(mark));
  }
}

}  // namespace spotmesh::objects
