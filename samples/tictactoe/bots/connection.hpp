// One client connection of STREAM's spotmesh.v1.json, for programs that wait in line.
#pragma once

#include <chrono>
#include <deque>
#include <string>

#include <spotmesh/error.hpp>
#include <spotmesh/message.hpp>
#include <spotmesh/packet.hpp>

#include "base/random.hpp"
#include "net/client_socket.hpp"
#include "wire/packet_catalog.hpp"
#include "wire/stream_json.hpp"
#include "wire/websocket_decoder.hpp"

namespace tictactoe {

inline constexpr auto patience = std::chrono::seconds(10);

// Every call waits at most `patience`, or what it is given. Once the connection has ended, calls
// are Unavailable and say how it ended.
class Connection {
 public:
  // `catalog` and `random` outlive the connection.
  static spotmesh::Result<Connection> open(const spotmesh::net::ClientEndpoint& server,
                                           const spotmesh::wire::PacketCatalog& catalog,
                                           spotmesh::Random& random);

  // The reply, or the error that the server answered with. What is pushed meanwhile is kept.
  template <spotmesh::Packet Reply, spotmesh::Packet P>
  spotmesh::Result<Reply> request(const P& packet) {
    auto reply = request(spotmesh::Message::of(packet));
    if (!reply) return fail(reply.error());
    return reply->template decode<Reply>();
  }
  // The oldest push that has not been taken.
  spotmesh::Result<spotmesh::Message> next_push(spotmesh::Duration timeout = patience);

  // Ends the connection as a lost network does: without a word.
  void cut() { socket_.close(); }

 private:
  Connection(spotmesh::net::ClientSocket socket, const spotmesh::wire::PacketCatalog& catalog,
             spotmesh::Random& random);

  spotmesh::Result<spotmesh::Message> request(const spotmesh::Message& packet);
  spotmesh::Result<void> send_frame(spotmesh::wire::WebSocketOpcode opcode,
                                    spotmesh::ByteView payload);
  // Waits for bytes and takes every message in them.
  spotmesh::Result<void> receive_some(spotmesh::Duration timeout);
  spotmesh::Result<void> take(const spotmesh::wire::WebSocketEvent& event);
  spotmesh::Result<spotmesh::Message> to_message(const std::string& packet,
                                                 const nlohmann::json& payload) const;
  spotmesh::Error ended(spotmesh::Error error) const;

  spotmesh::net::ClientSocket socket_;
  const spotmesh::wire::PacketCatalog* catalog_;
  spotmesh::Random* random_;
  spotmesh::wire::WebSocketDecoder decoder_;
  spotmesh::wire::RequestSeq last_seq_;
  std::optional<spotmesh::Result<spotmesh::Message>> reply_;
  std::deque<spotmesh::Message> pushes_;
  std::string closed_as_;  // what the server's close frame said
};

}  // namespace tictactoe
