#include <spotmesh/version.hpp>

namespace spotmesh {

std::string_view linked_version() noexcept { return SPOTMESH_VERSION_TEXT; }

}  // namespace spotmesh
