#include "wire/close_codes.hpp"

namespace spotmesh::wire {

bool may_be_sent(CloseCode code) {
  const auto number = static_cast<std::uint16_t>(code);
  if (number >= 3000) return number <= 4999;
  return (number >= 1000 && number <= 1003) || (number >= 1007 && number <= 1014);
}

std::string_view to_string(CloseCode code) {
  switch (code) {
    case CloseCode::Normal:
      return "Normal";
    case CloseCode::GoingAway:
      return "GoingAway";
    case CloseCode::ProtocolError:
      return "ProtocolError";
    case CloseCode::UnsupportedData:
      return "UnsupportedData";
    case CloseCode::NoStatus:
      return "NoStatus";
    case CloseCode::InvalidText:
      return "InvalidText";
    case CloseCode::PolicyViolation:
      return "PolicyViolation";
    case CloseCode::MessageTooBig:
      return "MessageTooBig";
    case CloseCode::InternalError:
      return "InternalError";
    case CloseCode::Disconnected:
      return "Disconnected";
    case CloseCode::BadMessage:
      return "BadMessage";
    case CloseCode::SlowReader:
      return "SlowReader";
    case CloseCode::Replaced:
      return "Replaced";
    case CloseCode::Unresponsive:
      return "Unresponsive";
    case CloseCode::Overloaded:
      return "Overloaded";
    case CloseCode::QuotaExceeded:
      return "QuotaExceeded";
    case CloseCode::Incompatible:
      return "Incompatible";
  }
  return "unknown";
}

}  // namespace spotmesh::wire
