// SubscriptionNotice: tells one publishing node that this one has a subscriber of a topic.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include <spotmesh/error.hpp>
#include <spotmesh/time.hpp>

#include "location/owner_stamp.hpp"
#include "objects/peer_message.hpp"
#include "objects/store_port.hpp"
#include "objects/topic_key.hpp"
#include "objects/topic_reach.hpp"

namespace spotmesh::objects {

class Core;

// Until that node knows, its run is over, or this ends. Spots wait for it a while only: a node that
// cannot be spoken to cannot publish to here either. Strand only.
class SubscriptionNotice final : public std::enable_shared_from_this<SubscriptionNotice> {
 public:
  // `settled` is called whenever is_settled() may have become true, perhaps within begin().
  SubscriptionNotice(Core& core, const TopicKey& key, const location::OwnerStamp& publisher,
                     std::function<void()> settled);
  ~SubscriptionNotice();
  SubscriptionNotice(const SubscriptionNotice&) = delete;
  SubscriptionNotice& operator=(const SubscriptionNotice&) = delete;

  // No Spot has to wait for it, or none has to any more.
  bool is_settled() const { return is_settled_; }
  void begin();

 private:
  void on_reach(Reach reach);
  void on_answer(const Result<PeerMessage>& answer);
  void on_timer();
  void try_again();
  void settle();

  Core& core_;
  const TopicKey key_;
  const location::OwnerStamp publisher_;
  const std::function<void()> settled_;
  const Instant patience_;
  bool is_settled_ = false;
  std::optional<std::uint64_t> call_;  // until it is answered
  StrandTimer timer_;
};

}  // namespace spotmesh::objects
