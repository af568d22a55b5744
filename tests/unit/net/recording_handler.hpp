// A ClientLinkHandler that notes what happens to its link.
#pragma once

#include <atomic>
#include <functional>
#include <initializer_list>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <spotmesh/bytes.hpp>

#include "stream/client_links.hpp"
#include "unit/net/waiting.hpp"

namespace spotmesh::net {

// What has happened on one link. Behaviour is given to the acceptor before a client connects.
class RecordingHandler final : public stream::ClientLinkHandler {
 public:
  struct Seen {
    std::string received;
    int reads = 0;
    int drained = 0;
    int closed = 0;
    std::string reason;
  };
  using OnBytes = std::function<void(stream::ClientLink&, std::string_view)>;

  RecordingHandler(stream::ClientLink& link, stream::LinkInfo info, OnBytes on_bytes)
      : link_(link), info_(std::move(info)), on_bytes_(std::move(on_bytes)) {}

  void on_bytes(ByteView bytes) override {
    const Inside inside(*this);
    if (on_bytes_) on_bytes_(link_, as_text(bytes));
    seen_.change([&](Seen& seen) {
      seen.received += as_text(bytes);
      ++seen.reads;
    });
  }
  void on_drained() override {
    const Inside inside(*this);
    seen_.change([](Seen& seen) { ++seen.drained; });
  }
  void on_closed(std::string_view reason) override {
    const Inside inside(*this);
    is_link_gone_ = true;
    std::unique_lock(link_use_).unlock();
    seen_.change([&](Seen& seen) {
      ++seen.closed;
      seen.reason = reason;
    });
  }

  // Calls `use(link)`, from any thread, unless the link is gone; whether it did.
  template <typename Use>
  bool use_link(Use use) {
    // Asked twice, so that many who use the link cannot keep on_closed() waiting.
    if (is_link_gone_) return false;
    std::shared_lock lock(link_use_);
    if (is_link_gone_) return false;
    use(link_);
    return true;
  }
  bool send(std::initializer_list<std::string_view> texts) {
    return use_link([&](stream::ClientLink& link) {
      std::vector<SharedBytes> batch;
      for (const auto text : texts) batch.push_back(SharedBytes::copy_of(as_bytes(text)));
      link.send(std::move(batch));
    });
  }
  void pause_reading() {
    use_link([](stream::ClientLink& link) { link.pause_reading(); });
  }
  void resume_reading() {
    use_link([](stream::ClientLink& link) { link.resume_reading(); });
  }
  void close_after_flush() {
    use_link([](stream::ClientLink& link) { link.close_after_flush(); });
  }
  void abort() {
    use_link([](stream::ClientLink& link) { link.abort(); });
  }
  std::size_t unsent_bytes() {
    std::size_t unsent = 0;
    use_link([&](stream::ClientLink& link) { unsent = link.unsent_bytes(); });
    return unsent;
  }

  const stream::LinkInfo& info() const { return info_; }
  Seen seen() const { return seen_.get(); }
  template <typename Condition>
  [[nodiscard]] bool wait_until(Condition condition) const {
    return seen_.wait_until(condition);
  }
  [[nodiscard]] bool wait_received(std::string_view text) const {
    return wait_until([&](const Seen& seen) { return seen.received == text; });
  }
  [[nodiscard]] bool wait_closed() const {
    return wait_until([](const Seen& seen) { return seen.closed != 0; });
  }
  bool has_overlapped() const { return overlapped_; }

 private:
  // Around every callback: two at a time, or one inside another, is an overlap.
  struct Inside {
    explicit Inside(RecordingHandler& handler) : handler_(handler) {
      if (handler_.is_inside_.exchange(true)) handler_.overlapped_ = true;
    }
    ~Inside() { handler_.is_inside_ = false; }
    RecordingHandler& handler_;
  };

  stream::ClientLink& link_;
  std::shared_mutex link_use_;
  std::atomic<bool> is_link_gone_{false};
  const stream::LinkInfo info_;
  const OnBytes on_bytes_;
  Watched<Seen> seen_;
  std::atomic<bool> is_inside_{false};
  std::atomic<bool> overlapped_{false};
};

}  // namespace spotmesh::net
