#pragma once

#include <spotmesh/time.hpp>

namespace spotmesh {

// How long to wait before trying again: each wait is twice the one before, up to a longest one.
class Backoff {
 public:
  struct Waits {
    Duration first;
    Duration longest;
  };

  // `first` is above zero and not above `longest`.
  explicit Backoff(Waits waits);

  // The wait before the next attempt.
  Duration next();

  // What had failed works again: the following wait is the first one.
  void reset() { upcoming_ = waits_.first; }

 private:
  Waits waits_;
  Duration upcoming_;
};

}  // namespace spotmesh
