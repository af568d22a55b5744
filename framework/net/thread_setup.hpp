// What every thread of this module is given before it runs.
#pragma once

#include <functional>
#include <string>
#include <thread>

namespace spotmesh::net {

// Starts `body` on a thread called `name` (at most 15 bytes are kept) with all signals blocked:
// signals belong to the thread of main(). An exception that leaves `body` ends the process.
std::thread start_thread(std::string name, std::function<void()> body);

}  // namespace spotmesh::net
