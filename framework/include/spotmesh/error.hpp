// Errors are values: every fallible operation of the framework returns Result<T>.
#pragma once

#include <cstdint>
#include <expected>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace spotmesh {

// The closed set of error kinds. The numbers are on the wire (STREAM replies, mesh frames) and
// never change. No retry hint travels with an error: whether to try again is a question of the
// operation, not of the kind.
enum class ErrorKind : std::uint8_t {
  NotFound = 0,           // nothing lives under that id, or nothing handles that packet
  AlreadyExists = 1,      // an exclusive create met a living object of the same type
  TypeMismatch = 2,       // the id belongs to an object of another stable type
  NotConfigured = 3,      // the process lacks the role or the mesh that the call needs
  Rejected = 4,           // a policy or an application callback said no
  Unavailable = 5,        // the owner, the store or the route cannot be used now
  CapacityExceeded = 6,   // a local queue, pool or placement bound is full
  DeadlineExceeded = 7,   // the operation's one deadline passed
  ShuttingDown = 8,       // this node no longer accepts new work
  ProtocolError = 9,      // bytes that do not decode, or that break a protocol's rules
  InvalidOperation = 10,  // the call is not allowed in this place or state
  DataLost = 11,          // a stored or transferred payload is damaged
  InternalFailure = 12,   // a handler, factory or callback threw, or an invariant failed
};

inline constexpr std::uint8_t error_kind_count = 13;

// The kind's name as it appears in logs, JSON and documentation, for example "NotFound".
std::string_view to_string(ErrorKind kind);

// A kind and a message a person can act on: what was asked, which id or type, what state was found.
class [[nodiscard]] Error {
 public:
  Error(ErrorKind kind, std::string message) : kind_(kind), message_(std::move(message)) {}

  static Error not_found(std::string message);
  static Error already_exists(std::string message);
  static Error type_mismatch(std::string message);
  static Error not_configured(std::string message);
  static Error rejected(std::string message);
  static Error unavailable(std::string message);
  static Error capacity_exceeded(std::string message);
  static Error deadline_exceeded(std::string message);
  static Error shutting_down(std::string message);
  static Error protocol_error(std::string message);
  static Error invalid_operation(std::string message);
  static Error data_lost(std::string message);
  static Error internal_failure(std::string message);

  ErrorKind kind() const { return kind_; }
  const std::string& message() const { return message_; }

  friend bool operator==(const Error&, const Error&) = default;

 private:
  ErrorKind kind_;
  std::string message_;
};

// "NotFound: no Actor 'player-7' …"
std::string to_string(const Error& error);

template <typename T = void>
using Result = std::expected<T, Error>;

// `return fail(Error::not_found(...));` from any function that returns a Result.
inline std::unexpected<Error> fail(Error error) { return std::unexpected<Error>(std::move(error)); }

// Thrown while an application is registered or a host starts, and by a registration inside a
// handler that breaks a configured limit: a mistake of the program, not of its input. The message
// names what to change.
class ConfigurationError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace spotmesh
