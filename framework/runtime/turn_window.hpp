// Turn::Window: makes a turn the current one of this thread.
#pragma once

#include "runtime/turn.hpp"

namespace spotmesh::runtime {

class Turn::Window {
 public:
  explicit Window(Turn& turn);
  ~Window();
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;
};

}  // namespace spotmesh::runtime
