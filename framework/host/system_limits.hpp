// What the system allows this process, told once at the start.
#pragma once

#include "base/log.hpp"

namespace spotmesh::host {

// One line with the limits that servers run into, after allow_open_files(); warnings for those that
// are known to be too low for a server of any size.
void tell_system_limits(LogSink& log);

}  // namespace spotmesh::host
