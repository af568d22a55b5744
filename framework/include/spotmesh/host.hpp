// Host: main() of a server. It runs an Application on the real world until it is told to stop.
#pragma once

#include <memory>
#include <source_location>
#include <string_view>

#include <spotmesh/application.hpp>
#include <spotmesh/settings.hpp>

namespace spotmesh {

//   int main(int argc, char** argv) {
//     spotmesh::Host host(argc, argv);
//     tictactoe::configure(host.application());
//     return host.run();
//   }
//
// Made first thing in main(), before any thread. A ConfigurationError that nobody catches between
// here and run() ends the process with its message on standard error and exit code 2.
class Host {
 public:
  // Reads the settings; see Settings for where they come from.
  Host(int argc, const char* const* argv);
  ~Host();
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  // For settings of the game's own: `host.settings().duration("tictactoe.turn_limit", 30s, …)`.
  // Before run().
  Settings& settings();
  Application& application();
  Mesh& mesh(std::string_view name, std::source_location where = std::source_location::current());
  Stream& stream(std::string_view name,
                 std::source_location where = std::source_location::current());

  // Starts a node, serves until SIGTERM, SIGINT or SIGHUP, stops in order, and returns the
  // process's exit code: 0 after a stop, 1 when the node could not start or lost its lease for
  // good, 2 for a configuration error. With --help or --print-config it only prints. Once serving
  // it prints one line to standard output:
  //   ready: node <rid>, clients at ws://<host>:<port>/stream, page at http://<host>:<port>/
  // without the clients when it has no gateway, and without the page when it serves none.
  int run();

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace spotmesh
