#include "objects/subscription_notice.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include <spotmesh/limits.hpp>

#include "objects/core.hpp"
#include "objects/node_directory.hpp"
#include "objects/peer_port.hpp"
#include "objects/peer_topics.hpp"

namespace spotmesh::objects {
namespace {

constexpr Duration first_pause = std::chrono::milliseconds(100);
constexpr Duration late_pause = std::chrono::seconds(1);

}  // namespace

SubscriptionNotice::SubscriptionNotice(Core& core, const TopicKey& key,
                                       const location::OwnerStamp& publisher,
                                       std::function<void()> settled)
    : core_(core),
      key_(key),
      publisher_(publisher),
      settled_(std::move(settled)),
      patience_(core.now() + limits::subscription_notice_timeout),
      timer_(core, [this] { on_timer(); }) {}

SubscriptionNotice::~SubscriptionNotice() {
  if (call_.has_value()) core_.peers->forget(*call_);
}

void SubscriptionNotice::begin() {
  find_reach(core_, key_, location::TopicSide::Publishers, publisher_,
             std::max(patience_, core_.now()), [self = weak_from_this()](Reach reach) {
               if (const auto notice = self.lock()) notice->on_reach(reach);
             });
}

void SubscriptionNotice::on_reach(Reach reach) {
  if (reach == Reach::Over) return settle();
  if (reach == Reach::Unknown) return try_again();
  const auto body = topic_change(key_, true);
  auto sent = core_.peers->call(
      peer_of(publisher_), mesh::Lane::Control, PeerKind::TopicChange, &body, Instant::max(),
      on_strand(core_, [self = weak_from_this()](const Result<PeerMessage>& answer) {
        if (const auto notice = self.lock()) notice->on_answer(answer);
      }));
  if (!sent) return try_again();
  call_ = *sent;
  timer_.arm(std::max(patience_, core_.now()));
}

void SubscriptionNotice::on_answer(const Result<PeerMessage>& answer) {
  call_.reset();
  timer_.cancel();
  const bool may_have_missed_it = !answer && answer.error().kind() == ErrorKind::Unavailable;
  // It knows, or its run is over.
  if (!may_have_missed_it || core_.peers->is_over(peer_of(publisher_))) return settle();
  try_again();
}

// What the session has accepted arrives, sooner or later, or its end does.
void SubscriptionNotice::on_timer() {
  if (call_.has_value()) return settle();
  begin();
}

void SubscriptionNotice::try_again() {
  const Duration pause = core_.now() < patience_ ? first_pause : late_pause;
  timer_.arm(core_.now() + pause);
  if (is_settled_ || core_.now() + pause <= patience_) return;
  core_.log(LogLevel::Warning,
            fmt::format("node {} publishes about {} and cannot be told of its subscribers here",
                        publisher_.rid.text, name_of(key_)));
  settle();
}

// Whoever is told may end this.
void SubscriptionNotice::settle() {
  const auto self = shared_from_this();
  is_settled_ = true;
  settled_();
}

}  // namespace spotmesh::objects
