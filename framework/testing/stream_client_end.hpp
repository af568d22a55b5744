// StreamClientEnd: what a SimStreamClient is made of.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <spotmesh/testing/sim_stream_client.hpp>

#include "base/random.hpp"
#include "testing/sim_client_links.hpp"
#include "testing/sim_connection.hpp"
#include "wire/client_codec.hpp"
#include "wire/packet_catalog.hpp"

namespace spotmesh::testing {

class StreamClientEnd final : public SimPeer {
 public:
  // `packets` may be shared by many clients; what they turn out to need is added to it.
  StreamClientEnd(Random& random, std::shared_ptr<wire::PacketCatalog> packets,
                  ClientForm form = ClientForm::Json);
  ~StreamClientEnd() override;

  // Errors as SimClientLinks::connect.
  Result<void> connect(SimClientLinks& links, std::string_view remote_address);

  void on_bytes(ByteView bytes) override;
  void on_closed(std::string_view reason) override;

  void request(const Message& message, std::function<void(Result<Message>)> done);
  void send(const Message& message);
  // As one message of the WebSocket, whatever it is.
  void send_frame(wire::WebSocketOpcode opcode, ByteView payload);
  void send_bytes(Bytes bytes);
  void close(std::uint16_t code, std::string_view reason);
  void know(const PacketDescriptor& packet);

  SimConnection& connection() { return *connection_; }
  bool is_open() const { return !close_seen.has_value(); }
  std::size_t unanswered_requests() const { return requests_.size(); }

  std::optional<ClientClose> close_seen;
  std::uint64_t pushes_received = 0;
  std::uint64_t pings_received = 0;
  std::uint64_t pongs_received = 0;
  bool answers_pings = true;
  // The test has sent requests of its own making, whose replies it reads itself.
  bool has_sent_raw = false;
  std::map<std::string, std::function<void(const Message&)>, std::less<>> push_handlers;
  std::function<void(const Message&)> on_other_push;
  std::function<void(std::string_view)> on_text;
  std::function<void(const ClientClose&)> on_close;

 private:
  // Work off one event; false when nothing more is to be read.
  bool take(wire::ClientEvent event);
  void take_push(const Result<Message>& push);
  void take_reply(wire::RequestSeq seq, Result<Message> reply);
  void send_packet(wire::RequestSeq seq, const Message& message);
  // The server broke the protocol, which no test may overlook.
  void give_up(const std::string& fault);
  void end(ClientClose how);

  const ClientForm form_;
  std::shared_ptr<wire::PacketCatalog> packets_;
  wire::ClientCodec codec_;
  std::shared_ptr<SimConnection> connection_;
  std::optional<ClientClose> said_;  // by the server's close frame
  std::map<std::uint32_t, std::function<void(Result<Message>)>> requests_;
  std::uint32_t last_seq_ = 0;
};

// A client that has come through the HTTP upgrade, and in the binary form has said Hello. Errors as
// SimClientLinks::connect. `random` outlives it.
Result<SimStreamClient> connect_stream_client(SimClientLinks& links, Random& random,
                                              std::shared_ptr<wire::PacketCatalog> packets,
                                              std::string_view remote_address = "client",
                                              ClientForm form = ClientForm::Json);

}  // namespace spotmesh::testing
