#include <spotmesh/task.hpp>

#include "base/pool.hpp"

namespace spotmesh::detail {

void* allocate_frame(std::size_t size) { return pool_allocate(size); }
void free_frame(void* frame, std::size_t size) noexcept { pool_free(frame, size); }

}  // namespace spotmesh::detail
