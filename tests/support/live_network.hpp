// A network within one process: nodes on real threads dial, speak and lose their connections.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "mesh/transport.hpp"
#include "runtime/scheduler.hpp"
#include "runtime/strand.hpp"

namespace spotmesh::testing {

// What one end sends the other gets on a strand of `scheduler`, in order, until the connection is
// closed or cut. Any thread. Connections stay in memory until the network ends, which it does when
// the scheduler runs nothing any more.
class LiveNetwork {
 public:
  explicit LiveNetwork(runtime::Scheduler& scheduler) : scheduler_(scheduler) {}
  LiveNetwork(const LiveNetwork&) = delete;
  LiveNetwork& operator=(const LiveNetwork&) = delete;

  // The Transport of one node; it ends before the network.
  std::unique_ptr<mesh::Transport> attach() { return std::make_unique<Port>(*this); }

  // Every connection that there is breaks: of what is under way each end gets some part, and no
  // more.
  void cut() {
    std::lock_guard lock(mutex_);
    for (const auto& link : links_) link->cut("connection reset");
  }

 private:
  struct Link;

  // One end; what happens to it happens on its strand.
  class End final : public mesh::Connection {
   public:
    End(Link& link, runtime::Scheduler& scheduler) : link_(link), strand_(scheduler) {}

    void send(std::vector<SharedBytes> frames) override {
      link_.peer_of(*this).post([frames = std::move(frames)](End& peer) mutable {
        // An end that is up and not over; what a cut has overtaken is lost.
        if (!peer.link_.is_cut) peer.handler_->on_frames(peer, std::move(frames));
      });
    }
    void close(std::string reason) override {
      link_.peer_of(*this).go_down(reason);
      go_down(std::move(reason));
    }

    void go_down(std::string reason) {
      post([reason = std::move(reason)](End& end) {
        end.is_over_ = true;
        if (auto* dialler = std::exchange(end.dialler_, nullptr)) {
          dialler->on_dial_failed(Error::unavailable(reason));
        } else if (end.handler_ != nullptr) {
          end.handler_->on_down(end, reason);
        }
      });
    }
    void dial(mesh::DialHandler& dialler) { dialler_ = &dialler; }
    // On the dialling end.
    void come_up() {
      post([](End& end) {
        mesh::DialHandler& dialler = *std::exchange(end.dialler_, nullptr);
        end.handler_ = &dialler;
        dialler.on_up(end);
      });
    }
    // On the listening end.
    void accept(LiveNetwork& network, const std::string& address) {
      post([&network, address](End& end) {
        std::lock_guard lock(network.mutex_);
        End& peer = end.link_.peer_of(end);
        const auto listener = network.listeners_.find(address);
        if (listener == network.listeners_.end()) {
          return peer.go_down(fmt::format("nobody listens on {}", address));
        }
        end.handler_ = &listener->second->on_accept(end);
        peer.come_up();
      });
    }

   private:
    template <typename Job>
    void post(Job job) {
      strand_.post([this, job = std::move(job)]() mutable {
        if (!is_over_) job(*this);
      });
    }

    Link& link_;
    runtime::Strand strand_;
    // Set by dial() before anything is posted, else touched on the strand.
    mesh::DialHandler* dialler_ = nullptr;  // until the dial is decided
    mesh::ConnectionHandler* handler_ = nullptr;
    bool is_over_ = false;
  };

  struct Link {
    explicit Link(runtime::Scheduler& scheduler)
        : dialling(*this, scheduler), listening(*this, scheduler) {}
    End& peer_of(const End& end) { return &end == &dialling ? listening : dialling; }
    void cut(const std::string& reason) {
      if (is_cut.exchange(true)) return;
      dialling.go_down(reason);
      listening.go_down(reason);
    }

    std::atomic<bool> is_cut{false};
    End dialling;
    End listening;
  };

  class Port final : public mesh::Transport {
   public:
    explicit Port(LiveNetwork& network) : network_(network) {}
    Result<std::string> listen(std::string address, mesh::ConnectionAcceptor& acceptor) override {
      auto bound = network_.listen(std::move(address), acceptor);
      if (bound) address_ = *bound;
      return bound;
    }
    void stop_listening() override {
      std::lock_guard lock(network_.mutex_);
      network_.listeners_.erase(address_);
    }
    void dial(std::string address, mesh::DialHandler& handler) override {
      std::lock_guard lock(network_.mutex_);
      Link& link = *network_.links_.emplace_back(std::make_unique<Link>(network_.scheduler_));
      link.dialling.dial(handler);
      link.listening.accept(network_, address);
    }

   private:
    LiveNetwork& network_;
    std::string address_;
  };

  // Port 0 asks for any that is free.
  Result<std::string> listen(std::string address, mesh::ConnectionAcceptor& acceptor) {
    const std::size_t colon = address.rfind(':');
    if (colon == std::string::npos) {
      return fail(Error::invalid_operation(fmt::format("'{}' is no address host:port", address)));
    }
    std::lock_guard lock(mutex_);
    if (address.substr(colon) == ":0") {
      address = fmt::format("{}:{}", address.substr(0, colon), ++last_port_);
    }
    if (!listeners_.try_emplace(address, &acceptor).second) {
      return fail(Error::unavailable(fmt::format("{} is taken", address)));
    }
    return address;
  }

  runtime::Scheduler& scheduler_;
  std::mutex mutex_;
  std::map<std::string, mesh::ConnectionAcceptor*> listeners_;
  std::vector<std::unique_ptr<Link>> links_;
  unsigned last_port_ = 0;
};

}  // namespace spotmesh::testing
