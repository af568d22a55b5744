// One node's object side on real threads and a store in memory, and turns to call it from.
#pragma once

#include <atomic>
#include <chrono>
#include <exception>
#include <functional>
#include <future>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include <spotmesh/spotmesh.hpp>

#include "memory_store.hpp"
#include "net/os_random.hpp"
#include "net/system_clock.hpp"
#include "net/thread_workers.hpp"
#include "net/worker_pool.hpp"
#include "objects/caller.hpp"
#include "objects/objects_node.hpp"
#include "runtime/job.hpp"
#include "runtime/mailbox.hpp"

namespace spotmesh::testing {

class QuietLog final : public LogSink, public EventSink {
 public:
  bool is_enabled(LogLevel level) const override { return level >= LogLevel::Error; }
  void write(LogLevel, std::string_view, std::string, std::vector<LogField>) override {
    errors.fetch_add(1);
  }
  void emit(Event) override {}

  std::atomic<int> errors{0};
};

class CallerContext final : public Context {
 public:
  explicit CallerContext(objects::Caller& caller) : Context(caller) {}
};

class LiveNode {
 public:
  LiveNode(const std::function<void(Application&)>& configure, unsigned threads,
           objects::ObjectsConfig config = {})
      : pool_({.threads = threads}) {
    configure(app_);
    frozen_.emplace(app_);
    node_.emplace(*frozen_, objects::new_identity("live", random_), std::move(config),
                  objects::Seams{.clock = clock_,
                                 .scheduler = pool_,
                                 .timers = pool_,
                                 .workers = workers_,
                                 .store = store_,
                                 .random = random_,
                                 .log = log_,
                                 .events = log_});
    std::promise<Result<void>> started;
    node_->start([&](Result<void> result) { started.set_value(std::move(result)); });
    if (auto result = started.get_future().get(); !result) {
      throw std::runtime_error(to_string(result.error()));
    }
  }
  ~LiveNode() {
    std::promise<void> stopped;
    node_->stop(clock_.now() + std::chrono::seconds(30), [&] { stopped.set_value(); });
    stopped.get_future().wait();
    pool_.stop();
    workers_.stop();
  }
  LiveNode(const LiveNode&) = delete;
  LiveNode& operator=(const LiveNode&) = delete;

  // Runs `call` on a gate of its own; the future is ready when it has ended.
  std::future<void> begin(std::function<Task<void>(Context&)> call) {
    auto turn = runtime::make_ref<CallTurn>(clock_, pool_, *node_, ++turns_);
    auto job = std::make_unique<CallJob>(turn, std::move(call));
    std::future<void> done = job->done.get_future();
    if (auto pushed = turn->mailbox.push(runtime::Lane::Application, std::move(job)); !pushed) {
      throw std::runtime_error(to_string(pushed.error()));
    }
    return done;
  }
  void call(std::function<Task<void>(Context&)> call) { begin(std::move(call)).get(); }

  objects::ObjectsNode& node() { return *node_; }
  const MemoryStore& store() const { return store_; }
  int errors() const { return log_.errors.load(); }

 private:
  struct CallTurn final : runtime::RefCounted {
    CallTurn(runtime::Clock& clock, runtime::Scheduler& scheduler, objects::ObjectsNode& node,
             std::uint64_t number)
        : gate(runtime::make_ref<runtime::Gate>(
              runtime::GateEnvironment{.clock = clock, .scheduler = scheduler})),
          mailbox(*this, *gate),
          caller(node.new_session_caller(SessionId{1, number})),
          context(*caller) {}
    runtime::Ref<runtime::Gate> gate;
    runtime::Mailbox mailbox;
    std::unique_ptr<objects::Caller> caller;
    CallerContext context;
  };
  class CallJob final : public runtime::Job {
   public:
    CallJob(runtime::Ref<CallTurn> turn, std::function<Task<void>(Context&)> call)
        : turn_(std::move(turn)), call_(std::move(call)) {}
    Task<void> run(runtime::Turn&) override { return call_(turn_->context); }
    void finished(runtime::Turn&, std::exception_ptr failure) override {
      if (failure != nullptr) return done.set_exception(failure);
      done.set_value();
    }
    void refuse(const Error&) override {}

    std::promise<void> done;

   private:
    const runtime::Ref<CallTurn> turn_;
    const std::function<Task<void>(Context&)> call_;
  };

  Application app_;
  std::optional<objects::FrozenApplication> frozen_;
  net::SystemClock clock_;
  net::OsRandom random_;
  QuietLog log_;
  net::ThreadWorkers workers_{{.cpu_threads = 1, .io_threads = 1}};
  net::WorkerPool pool_;
  MemoryStore store_{pool_};
  std::optional<objects::ObjectsNode> node_;
  std::atomic<std::uint64_t> turns_{0};
};

}  // namespace spotmesh::testing
