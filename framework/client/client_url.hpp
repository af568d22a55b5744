// The URL of a gateway, taken apart.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <spotmesh/error.hpp>

namespace spotmesh::client {

struct ClientUrl {
  bool is_web_socket = true;  // ws://, else tcp://
  std::string host;           // a name or an address, without brackets
  std::uint16_t port = 80;
  std::string authority;  // HOST:PORT as it stands in a request
  std::string path = "/stream";
};

// InvalidOperation, naming what is wrong with it.
Result<ClientUrl> parse_client_url(std::string_view url);

}  // namespace spotmesh::client
