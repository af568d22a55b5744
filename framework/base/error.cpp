#include <array>
#include <spotmesh/error.hpp>

namespace spotmesh {
namespace {

constexpr std::array<std::string_view, error_kind_count> kind_names = {
    "NotFound",         "AlreadyExists",    "TypeMismatch",     "NotConfigured", "Rejected",
    "Unavailable",      "CapacityExceeded", "DeadlineExceeded", "ShuttingDown",  "ProtocolError",
    "InvalidOperation", "DataLost",         "InternalFailure"};

}  // namespace

std::string_view to_string(ErrorKind kind) {
  const auto index = static_cast<std::size_t>(kind);
  return index < kind_names.size() ? kind_names[index] : std::string_view("UnknownKind");
}

std::string to_string(const Error& error) {
  return std::string(to_string(error.kind())) + ": " + error.message();
}

Error Error::not_found(std::string message) { return {ErrorKind::NotFound, std::move(message)}; }
Error Error::already_exists(std::string message) {
  return {ErrorKind::AlreadyExists, std::move(message)};
}
Error Error::type_mismatch(std::string message) {
  return {ErrorKind::TypeMismatch, std::move(message)};
}
Error Error::not_configured(std::string message) {
  return {ErrorKind::NotConfigured, std::move(message)};
}
Error Error::rejected(std::string message) { return {ErrorKind::Rejected, std::move(message)}; }
Error Error::unavailable(std::string message) {
  return {ErrorKind::Unavailable, std::move(message)};
}
Error Error::capacity_exceeded(std::string message) {
  return {ErrorKind::CapacityExceeded, std::move(message)};
}
Error Error::deadline_exceeded(std::string message) {
  return {ErrorKind::DeadlineExceeded, std::move(message)};
}
Error Error::shutting_down(std::string message) {
  return {ErrorKind::ShuttingDown, std::move(message)};
}
Error Error::protocol_error(std::string message) {
  return {ErrorKind::ProtocolError, std::move(message)};
}
Error Error::invalid_operation(std::string message) {
  return {ErrorKind::InvalidOperation, std::move(message)};
}
Error Error::data_lost(std::string message) { return {ErrorKind::DataLost, std::move(message)}; }
Error Error::internal_failure(std::string message) {
  return {ErrorKind::InternalFailure, std::move(message)};
}

}  // namespace spotmesh
