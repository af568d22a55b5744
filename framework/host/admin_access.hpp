// Who may use the admin endpoint.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "net/http_message.hpp"

namespace spotmesh::host {

struct AdminRefusal {
  unsigned status = 0;
  std::string text;
};

// With a token, whoever shows it: `Authorization: Bearer <token>`. Without one, which is allowed at
// a loopback address alone, every program of this machine, but no page that a browser of this
// machine shows: such a request names another host, or another origin or site than this endpoint.
std::optional<AdminRefusal> judge_admin_access(const net::RequestHead& request,
                                               std::string_view token);

// Takes as long whatever the two have in common; how long `expected` is may show.
bool equal_in_constant_time(std::string_view shown, std::string_view expected);

// 127.0.0.0/8 or ::1, as text.
bool is_loopback_address(std::string_view address);

}  // namespace spotmesh::host
