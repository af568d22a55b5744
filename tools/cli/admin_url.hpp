// The address of an admin endpoint, and targets of requests to it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <spotmesh/error.hpp>

namespace spotmesh::cli {

struct AdminUrl {
  std::string host;  // a name or an address, without brackets
  std::uint16_t port = 9464;
  std::string authority;  // HOST:PORT as it stands in a request
};

// "http://127.0.0.1:9464", with or without a slash at its end. InvalidOperation, naming what is
// wrong with it.
Result<AdminUrl> parse_admin_url(std::string_view url);

// `text` as one segment of a path, or as a value of a query.
std::string percent_encoded(std::string_view text);

}  // namespace spotmesh::cli
