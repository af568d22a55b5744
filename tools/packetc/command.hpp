// The command line of spotmesh-packetc.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

namespace spotmesh::packetc {

// Runs the command and returns the exit code: 0, 1 for a failure that `err` explains, 2 for wrong
// usage.
int run(std::vector<std::string> arguments, std::ostream& out, std::ostream& err);

}  // namespace spotmesh::packetc
