// Brings a crowd to a server and prints a line of JSON for each phase: in every second one some of
// the crowd do not read.
//
//   crowd --port P --pid PID [--rooms N] [--deaf N] [--phases N] [--secs S]
#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>

#include <fmt/format.h>

#include "crowd.hpp"

namespace {

using namespace spotmesh::crowd;

void print(const Phase& phase) {
  fmt::print(R"({{"has_deaf":{},"heard":{},"median_ms":{:.3f},"p99_ms":{:.3f},"longest_ms":{:.3f},)"
             R"("most_resident_bytes":{},"deaf_sessions":{},"told":{},"cut":{},"alive":{}}})"
             "\n",
             phase.has_deaf, phase.heard, phase.median_ms, phase.p99_ms, phase.longest_ms,
             phase.most_resident_bytes, phase.deaf_sessions, phase.told, phase.cut, phase.alive);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  int phases = 8;
  CLI::App app("Brings a crowd of clients to a server, some of whom stop reading.");
  app.add_option("--port", options.port, "of tcp://")->required();
  app.add_option("--pid", options.pid, "of the server, whose memory is read")->required();
  app.add_option("--rooms", options.rooms)->check(CLI::Range(1, 10'000));
  app.add_option("--loud", options.loud_rooms, "of the rooms")->check(CLI::Range(0, 10'000));
  app.add_option("--deaf", options.deaf)->check(CLI::Range(0, 10'000));
  app.add_option("--phases", phases, "all read in the first, the third …");
  app.add_option("--secs", options.seconds, "of a phase");
  CLI11_PARSE(app, argc, argv);
  try {
    Crowd crowd(options);
    crowd.come_in();
    crowd.run_phase(false);  // until everything has its size and its place
    for (int i = 0; i < phases; ++i) print(crowd.run_phase(i % 2 == 1));
    return 0;
  } catch (const std::exception& failure) {
    fmt::print(stderr, "crowd: {}\n", failure.what());
    return 1;
  }
}
