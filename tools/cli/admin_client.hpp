// AdminClient: asks an admin endpoint.
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include <spotmesh/bytes.hpp>
#include <spotmesh/error.hpp>
#include <spotmesh/time.hpp>

#include "cli/admin_url.hpp"
#include "net/polled_socket.hpp"
#include "net/system_clock.hpp"

namespace spotmesh::cli {

// A connection on which a request has been sent, and the head of its answer read.
struct Opened {
  net::PolledSocket socket;
  unsigned status = 0;
  std::string head;  // status line and headers
  std::string rest;  // what came behind it
};

// The value of that header, without the white space around it; nothing when there is none.
std::string_view header_of(std::string_view head, std::string_view name);

class AdminClient {
 public:
  // Without a token, none is shown.
  AdminClient(AdminUrl url, std::string token, Duration timeout)
      : url_(std::move(url)), token_(std::move(token)), timeout_(timeout) {}

  // The document of a 200 or 202. Unavailable: the endpoint cannot be reached, or has said 503.
  // NotFound (404), InvalidOperation (400), Rejected (401, 403): with what the endpoint has said.
  // DeadlineExceeded; ProtocolError when what answers is no admin endpoint.
  Result<nlohmann::json> get(std::string_view target) const { return ask("GET", target); }
  Result<nlohmann::json> post(std::string_view target) const { return ask("POST", target); }

  // `headers` are whole lines. The deadline holds for all of it.
  Result<Opened> open(std::string_view method, std::string_view target, std::string_view headers,
                      Instant deadline) const;
  // What a refusal says.
  static Error error_of(unsigned status, std::string_view body);

  const AdminUrl& url() const { return url_; }
  Instant deadline() const { return clock_.now() + timeout_; }
  Instant now() const { return clock_.now(); }
  Error late() const;

 private:
  Result<nlohmann::json> ask(std::string_view method, std::string_view target) const;

  const AdminUrl url_;
  const std::string token_;
  const Duration timeout_;
  net::SystemClock clock_;
};

}  // namespace spotmesh::cli
