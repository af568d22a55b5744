#include "server/refusal.hpp"

namespace tictactoe {

using spotmesh::Error;
using spotmesh::ErrorKind;

Error refusal(const Error& error) {
  switch (error.kind()) {
    case ErrorKind::Rejected:
    case ErrorKind::InvalidOperation:
      return error;
    case ErrorKind::CapacityExceeded:
      return {error.kind(), "too many are here at the moment: try again a little later"};
    case ErrorKind::Unavailable:
    case ErrorKind::DeadlineExceeded:
    case ErrorKind::ShuttingDown:
      return {error.kind(), "this is not possible right now: try again in a moment"};
    default:
      return {error.kind(), "something went wrong in the game"};
  }
}

}  // namespace tictactoe
