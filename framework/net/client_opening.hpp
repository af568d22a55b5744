// The client's half of the HTTP upgrade to a WebSocket, as bytes.
#pragma once

#include <string>
#include <string_view>

#include <spotmesh/bytes.hpp>
#include <spotmesh/error.hpp>

#include "base/random.hpp"

namespace spotmesh::net {

class ClientOpening {
 public:
  // `authority` is HOST:PORT.
  ClientOpening(std::string_view authority, std::string_view path, std::string_view subprotocol,
                Random& random);

  // What is to be sent first.
  const std::string& request() const { return request_; }

  // Takes bytes from the front of `input`, and true says that the answer is whole: what is left of
  // `input` is the WebSocket's. Unavailable: the server did not take the upgrade, and the message
  // has its answer. ProtocolError: it said something else.
  Result<bool> take(ByteView& input);

 private:
  Result<bool> judge(std::string_view head, std::string_view rest) const;

  std::string key_;
  std::string subprotocol_;
  std::string request_;
  std::string answer_;
};

}  // namespace spotmesh::net
