// Claims: who waits for the mailbox of one Actor or Spot to stand still.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "runtime/mailbox.hpp"
#include "runtime/ref_counted.hpp"

namespace spotmesh::objects {

class Core;

// Part of the cell `owner`, which contains the mailbox. Strand only.
//
// A claim is kept here until it is granted, so that one that an abandoned gate never grants ends
// with the cell.
class Claims {
 public:
  class Claim final : public runtime::ClaimWaiter {
   public:
    Claim(Claims& claims, std::function<void()> then) : claims_(claims), then_(std::move(then)) {}
    void on_claimed() override;

   private:
    Claims& claims_;
    std::function<void()> then_;
  };

  Claims(Core& core, runtime::RefCounted& owner, runtime::Mailbox& mailbox)
      : core_(core), owner_(owner), mailbox_(mailbox) {}
  Claims(const Claims&) = delete;
  Claims& operator=(const Claims&) = delete;

  // No turn of the mailbox is in progress from the moment `then` is posted to the strand until
  // release(). Granted in order; the value withdraws a claim that is still waiting.
  Claim* claim(std::function<void()> then);
  bool withdraw(Claim* claim);
  void release() { mailbox_.release_claim(); }
  // The gate is abandoned: claims that it has not granted never will be, and let go of what they
  // keep, which may be the cell itself.
  void give_up();
  // The node ends, and nothing more is posted: those that are granted let go, too.
  void drop() {
    give_up();
    waiting_.clear();
  }

 private:
  Core& core_;
  runtime::RefCounted& owner_;
  runtime::Mailbox& mailbox_;
  std::vector<std::unique_ptr<Claim>> waiting_;
};

}  // namespace spotmesh::objects
