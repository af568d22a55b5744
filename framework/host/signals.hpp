// Stopping by signal: SIGTERM, SIGINT and SIGHUP are awaited by the main thread and handled by
// nobody else.
#pragma once

#include <csignal>

namespace spotmesh::host {

// Blocks the three in the calling thread, and so in every thread it starts later, and ignores
// SIGPIPE, which a client that goes away would otherwise turn into the end of the process. SIGHUP,
// a terminal's end, stays ignored where it was, as by nohup. Made before any other thread.
class StopSignals {
 public:
  enum class Heard { Stop, Wake };

  StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  // Waits until the process is told to stop, or for the next wake().
  Heard wait() const;
  // Ends one present or coming wait(). Any thread; harmless when nobody waits any more.
  void wake() const;
  // From now on the three have their usual effect again, and wait() hears wake() alone: a second
  // Ctrl-C ends a stop that takes too long.
  void restore();

 private:
  sigset_t stop_;
  sigset_t awaited_;  // of which wait() hears
};

}  // namespace spotmesh::host
