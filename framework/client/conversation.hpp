// Conversation: one connection of a client without its socket: bytes and times in, bytes out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include <spotmesh/bytes.hpp>
#include <spotmesh/client/client.hpp>
#include <spotmesh/time.hpp>

#include "base/random.hpp"
#include "wire/client_codec.hpp"
#include "wire/packet_catalog.hpp"

namespace spotmesh::client {

// What a close code means to a program.
Ending ending_of(const wire::WebSocketClose& close);

// Handlers are called by begin(), on_bytes(), tick() and deliver_end() only. The states and what
// leads from one to the next stand in framework/docs/client.md.
class Conversation {
 public:
  using Done = std::function<void(Result<Message>)>;
  using OnPush = std::function<void(const Message&)>;

  // `random` outlives it.
  Conversation(const ClientOptions& options, wire::StreamForm form, Random& random, Instant now);

  Result<void> request(const Message& packet, Done done, Duration timeout, Instant now);
  Result<void> send(const Message& packet);
  Result<void> close(std::uint16_t code, std::string_view reason, Instant now);
  void on_push(const PacketDescriptor& packet, OnPush handler);

  // Bytes go to and fro from now on: the connection is there, and upgraded if it has to be.
  void begin(Instant now);
  void on_bytes(ByteView bytes, Instant now);
  // What is due by now.
  void tick(Instant now);
  // When tick() is due next.
  Instant next_tick() const;
  // The connection has ended. Only the first ending counts; deliver_end() tells of it.
  void end(Ending ending);
  // The same without last words.
  void cut(std::string reason);
  // Tells requests and handlers of the end, once. True when there was something to tell.
  bool deliver_end();

  State state() const { return state_; }
  // How often somebody was called.
  std::uint64_t calls() const { return calls_; }
  const std::optional<Ending>& ending() const { return ending_; }
  const std::string& session() const { return session_; }
  std::size_t unanswered_requests() const { return requests_.size(); }
  std::uint64_t late_replies() const { return late_replies_; }

  // What is to be written, last words included, and how much of it was.
  ByteView output() const { return ByteView(out_).subspan(written_); }
  void written(std::size_t bytes);

  OnPush on_other_push;
  std::function<void(const Error&)> on_unread_push;
  std::function<void()> on_open;
  std::function<void(const Ending&)> on_end;

 private:
  struct Request {
    Done done;
    Instant deadline;
  };

  Result<void> say(wire::RequestSeq seq, const Message& packet);
  bool takes_packets() const { return state_ == State::Connecting || state_ == State::Open; }
  wire::RequestSeq next_seq();
  void take(wire::ClientEvent event, Instant now);
  void take_push(const Result<Message>& push);
  void take_reply(wire::RequestSeq seq, Result<Message> reply);
  void come_in(Instant now);
  void answer_ping();
  void check_requests(Instant now);
  void check_silence(Instant now);
  Ending not_let_in() const;

  const ClientOptions options_;
  wire::PacketCatalog catalog_;
  wire::ClientCodec codec_;
  std::map<PacketId, std::shared_ptr<const OnPush>> push_handlers_;

  State state_ = State::Connecting;
  bool has_begun_ = false;
  std::optional<Ending> ending_;
  bool has_delivered_end_ = false;
  std::string session_;
  std::size_t server_message_bytes_ = limits::stream_message_bytes;
  std::size_t most_requests_;

  std::map<std::uint32_t, Request> requests_;
  std::set<std::pair<Instant, std::uint32_t>> deadlines_;
  std::uint32_t last_seq_ = 0;
  std::uint64_t late_replies_ = 0;
  std::uint64_t calls_ = 0;

  Bytes out_;
  std::size_t written_ = 0;    // of out_
  std::optional<Bytes> ping_;  // of the server, to be answered
  Instant last_heard_;
  std::optional<Instant> pinged_at_;  // and nothing was heard since
  Instant phase_ends_;                // of connecting and closing
};

}  // namespace spotmesh::client
