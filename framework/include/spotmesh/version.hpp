#pragma once

#include <string_view>

namespace spotmesh {

/// The version of these headers. Together with `linked_version()` it shows whether a program was
/// compiled against one version of the framework and linked with another.
inline constexpr int version_major = 0;
inline constexpr int version_minor = 1;
inline constexpr int version_patch = 0;

/// The version of the linked library as "major.minor.patch". Callable from any thread; the text
/// lives as long as the program.
std::string_view linked_version() noexcept;

}  // namespace spotmesh
