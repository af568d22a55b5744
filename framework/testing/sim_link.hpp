// SimLink: one simulated client connection, both its ends.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <span>
#include <string_view>

#include <spotmesh/bytes.hpp>
#include <spotmesh/time.hpp>

#include "base/random.hpp"
#include "stream/client_links.hpp"
#include "testing/sim_connection.hpp"
#include "testing/sim_time.hpp"

namespace spotmesh::testing {

// States: Open; Flushing (the server asked for the end, its bytes still leave); Ended. Every event
// that is under way holds a reference.
class SimLink final : public stream::ClientLink,
                      public SimConnection,
                      public std::enable_shared_from_this<SimLink> {
 public:
  SimLink(SimTime& time, Random& random, const LinkConditions& conditions, SimPeer& peer)
      : time_(time), random_(random), conditions_(conditions), peer_(&peer) {}

  void attach(std::shared_ptr<stream::ClientLinkHandler> handler) { handler_ = std::move(handler); }
  bool is_open() const { return state_ != State::Ended; }
  // The server's process is gone.
  void crash();

  // The server's end.
  void send_batch(std::span<SharedBytes> batch) override;
  std::size_t unsent_bytes() const override { return unsent_bytes_; }
  void pause_reading() override { is_reading_paused_ = true; }
  void resume_reading() override;
  void close_after_flush() override;
  void abort() override;

  // The client's end.
  void send(Bytes bytes) override;
  void close() override;
  void vanish() override;
  void fall_silent() override { is_silent_ = true; }
  void reset() override;
  void forget_peer() override { peer_ = nullptr; }
  void stop_reading() override { does_client_read_ = false; }
  void start_reading() override;
  std::size_t unread_bytes() const override;

 private:
  enum class State { Open, Flushing, Ended };
  // What has become of the client.
  enum class Client { Present, Closed, Vanished, Reset };

  template <typename F>
  void at(Instant when, F job);
  template <typename F>
  void later(F job) {
    at(time_.now(), std::move(job));
  }

  // When something sent now arrives: not before anything sent earlier in its direction.
  Instant arrival(Instant& last);
  // How much of `size` bytes one read gives.
  std::size_t read_size(std::size_t size);
  void deliver_inbound();
  void put_on_wire();
  void deliver_outbound();
  void report_drained();
  void answer_with_reset();
  void finish_flushing();
  void end(std::string_view reason);

  SimTime& time_;
  Random& random_;
  const LinkConditions conditions_;
  std::shared_ptr<stream::ClientLinkHandler> handler_;
  SimPeer* peer_;
  State state_ = State::Open;
  Client client_ = Client::Present;

  std::deque<SharedBytes> outbound_;  // given to send(), not yet taken by the operating system
  std::deque<SharedBytes> arrived_;   // at the client, not yet read
  std::size_t unsent_bytes_ = 0;
  std::size_t in_flight_bytes_ = 0;  // taken and not yet read
  Instant last_outbound_{};
  bool was_above_ = false;  // the backlog has stood above what on_drained() reports
  bool does_client_read_ = true;

  std::deque<Bytes> inbound_;  // at the server, not yet read
  Instant last_inbound_{};
  bool is_reading_paused_ = false;
  bool is_end_of_inbound_ = false;
  bool is_reset_ = false;  // the client's reset is here, for whoever reads or writes next
  bool is_silent_ = false;
};

}  // namespace spotmesh::testing
