// The command `spotmesh`: an operator's view of a live cluster.
#pragma once

#include <functional>
#include <ostream>
#include <string>
#include <vector>

namespace spotmesh::cli {

inline constexpr int exit_done = 0;
inline constexpr int exit_failure = 1;
inline constexpr int exit_usage = 2;

// Null when it is not set.
using Environment = std::function<const char*(const char* name)>;

// Runs the command with these arguments, its name not among them; the value is the exit code.
int run(std::vector<std::string> arguments, const Environment& environment, std::ostream& out,
        std::ostream& err);

}  // namespace spotmesh::cli
