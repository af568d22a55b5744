// What nodes on real threads live on, in one process.
#pragma once

#include <atomic>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.hpp"
#include "live_network.hpp"
#include "memory_store.hpp"
#include "net/os_random.hpp"
#include "net/system_clock.hpp"
#include "net/thread_workers.hpp"
#include "net/worker_pool.hpp"

namespace spotmesh::testing {

class QuietLog final : public LogSink, public EventSink {
 public:
  bool is_enabled(LogLevel level) const override { return level >= LogLevel::Error; }
  void write(LogLevel level, std::string_view, std::string, std::vector<LogField>) override {
    if (is_enabled(level)) errors.fetch_add(1);
  }
  void emit(Event) override {}

  std::atomic<int> errors{0};
};

struct LiveParts {
  explicit LiveParts(unsigned threads) : pool({.threads = threads}) {}

  net::SystemClock clock;
  net::OsRandom random;
  QuietLog log;
  net::ThreadWorkers workers{{.cpu_threads = 2, .io_threads = 1}};
  net::WorkerPool pool;
  MemoryStore store{pool};
  LiveNetwork network{pool};
};

}  // namespace spotmesh::testing
