#include "stream/session_ending.hpp"

#include <fmt/format.h>

namespace spotmesh::stream {

using Kind = DisconnectReason::Kind;
using wire::CloseCode;

SessionEnding SessionEnding::closed_by_client(wire::WebSocketClose said) {
  const auto code = static_cast<unsigned>(said.code);
  std::string text = said.reason.empty()
                         ? fmt::format("closed by the client with {}", code)
                         : fmt::format("closed by the client with {}: {}", code, said.reason);
  // The answer to a close frame bears its code.
  return {{Kind::ClientClosed, std::move(text)}, {said.code, {}}};
}

SessionEnding SessionEnding::closed_by_game(std::string reason) {
  return {{Kind::ServerClosed, reason}, {CloseCode::Disconnected, std::move(reason)}};
}

SessionEnding SessionEnding::replaced(std::string reason) {
  return {{Kind::Replaced, reason}, {CloseCode::Replaced, std::move(reason)}};
}

SessionEnding SessionEnding::unresponsive(std::string reason) {
  return {{Kind::ConnectionLost, reason}, {CloseCode::Unresponsive, std::move(reason)}};
}

SessionEnding SessionEnding::broke_protocol(wire::WebSocketClose close) {
  return {{Kind::ProtocolError, close.reason}, std::move(close)};
}

SessionEnding SessionEnding::slow_reader(std::string reason) {
  return {{Kind::SlowClient, reason}, {CloseCode::SlowReader, std::move(reason)}};
}

SessionEnding SessionEnding::over_quota(std::string reason) {
  return {{Kind::QuotaExceeded, reason}, {CloseCode::QuotaExceeded, std::move(reason)}};
}

SessionEnding SessionEnding::shutdown(std::string reason) {
  return {{Kind::Shutdown, reason}, {CloseCode::GoingAway, std::move(reason)}};
}

SessionEnding SessionEnding::failed(std::string reason) {
  return {{Kind::ServerClosed, reason}, {CloseCode::InternalError, std::move(reason)}};
}

SessionEnding SessionEnding::link_lost(std::string reason) {
  return {{Kind::ConnectionLost, std::move(reason)}, {}};
}

bool SessionEnding::runs_what_waits() const {
  switch (reason.kind) {
    case Kind::ClientClosed:
    case Kind::ConnectionLost:
    case Kind::ProtocolError:
      return true;
    case Kind::ServerClosed:
    case Kind::Replaced:
    case Kind::SlowClient:
    case Kind::QuotaExceeded:
    case Kind::Shutdown:
      return false;
  }
  return false;
}

bool SessionEnding::is_misconduct() const {
  return reason.kind == Kind::ProtocolError || reason.kind == Kind::SlowClient ||
         reason.kind == Kind::QuotaExceeded;
}

}  // namespace spotmesh::stream
