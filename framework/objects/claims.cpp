#include "objects/claims.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "objects/core.hpp"

namespace spotmesh::objects {

void Claims::Claim::on_claimed() {
  Claims& claims = claims_;
  claims.core_.strand.post(
      [&claims, owner = runtime::Ref<runtime::RefCounted>(&claims.owner_), claim = this] {
        const auto found = std::ranges::find(claims.waiting_, claim, &std::unique_ptr<Claim>::get);
        if (found == claims.waiting_.end()) return;
        const std::unique_ptr<Claim> granted = std::move(*found);
        claims.waiting_.erase(found);
        granted->then_();
      });
}

Claims::Claim* Claims::claim(std::function<void()> then) {
  waiting_.push_back(std::make_unique<Claim>(*this, std::move(then)));
  Claim* waiting = waiting_.back().get();
  mailbox_.claim(*waiting);
  return waiting;
}

bool Claims::withdraw(Claim* claim) {
  const auto found = std::ranges::find(waiting_, claim, &std::unique_ptr<Claim>::get);
  if (found == waiting_.end() || !mailbox_.withdraw_claim(**found)) return false;
  waiting_.erase(found);
  return true;
}

void Claims::give_up() {
  const auto waiting = std::ranges::partition(
      waiting_, [this](const auto& claim) { return !mailbox_.withdraw_claim(*claim); });
  const std::vector<std::unique_ptr<Claim>> ended(std::make_move_iterator(waiting.begin()),
                                                  std::make_move_iterator(waiting.end()));
  waiting_.erase(waiting.begin(), waiting.end());
}

}  // namespace spotmesh::objects
