// The Workers seam: bounded pools for work that does not belong on a turn.
#pragma once

#include <functional>

#include <spotmesh/error.hpp>

namespace spotmesh::runtime {

class Workers {
 public:
  enum class Pool { Cpu, Io };

  virtual ~Workers() = default;
  // Runs `job` once on a thread of the pool (in the simulator: later, inline). CapacityExceeded
  // when the pool's queue is full; the job has then not been and will not be run. `job` must not
  // throw.
  virtual Result<void> post(Pool pool, std::function<void()> job) = 0;
};

}  // namespace spotmesh::runtime
