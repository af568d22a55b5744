#include "runtime/worker_call.hpp"

#include <catch2/catch.hpp>
#include <deque>

#include "fixture.hpp"

namespace spotmesh::runtime::testing {
namespace {

class ManualWorkers final : public Workers {
 public:
  Result<void> post(Pool pool, std::function<void()> job) override {
    if (jobs.size() >= bound) return fail(Error::capacity_exceeded("the pool is full"));
    last_pool = pool;
    jobs.push_back(std::move(job));
    return {};
  }
  void run_all() {
    while (!jobs.empty()) {
      auto job = std::move(jobs.front());
      jobs.pop_front();
      job();
    }
  }
  std::deque<std::function<void()>> jobs;
  std::size_t bound = 1;
  Pool last_pool = Pool::Cpu;
};

struct WorkerFixture : GateFixture {
  ManualWorkers workers;
  Ref<Cell> cell = make_ref<Cell>(*make_gate());
};

TEST_CASE("a worker call runs off the turn and its caller goes on in its own", "[TURN-12]") {
  WorkerFixture fixture;
  fixture.push(*fixture.cell, fixture.awaiting([&]() -> Task<void> {
    auto call = run_on_worker(fixture.workers, Workers::Pool::Io, [&] {
      CHECK(Turn::current() == nullptr);
      return 42;
    });
    const auto result = co_await call->wait();
    REQUIRE(Turn::current() != nullptr);
    fixture.note(std::to_string(*result));
  }));
  fixture.push(*fixture.cell, fixture.noting("next"));
  fixture.scheduler.run_all();
  CHECK(fixture.trace.empty());
  CHECK(fixture.workers.last_pool == Workers::Pool::Io);
  fixture.workers.run_all();
  CHECK(fixture.trace.empty());
  fixture.scheduler.run_all();
  CHECK(fixture.trace == std::vector<std::string>{"42", "next"});
}

TEST_CASE("a full pool and a call that throws are errors of the call", "[TURN-12]") {
  WorkerFixture fixture;
  fixture.push(*fixture.cell, fixture.awaiting([&]() -> Task<void> {
    auto throwing = run_on_worker(fixture.workers, Workers::Pool::Cpu,
                                  [] { throw std::runtime_error("broken"); });
    auto refused = run_on_worker(fixture.workers, Workers::Pool::Cpu, [] { return 1; });
    const auto full = co_await refused->wait();
    REQUIRE_FALSE(full);
    CHECK(full.error() == Error::capacity_exceeded("the pool is full"));
    const auto thrown = co_await throwing->yield();
    REQUIRE_FALSE(thrown);
    CHECK(thrown.error() == Error::internal_failure("a worker call threw: broken"));
    fixture.note("ends");
  }));
  fixture.scheduler.run_all();
  fixture.workers.run_all();
  fixture.scheduler.run_all();
  CHECK(fixture.trace == std::vector<std::string>{"ends"});
}

TEST_CASE("a worker call outlives the turn that made it") {
  WorkerFixture fixture;
  auto held = std::make_shared<int>(0);
  fixture.push(*fixture.cell, fixture.awaiting([&]() -> Task<void> {
    auto call = run_on_worker(fixture.workers, Workers::Pool::Cpu,
                              [held, text = std::make_unique<int>(3)] { return *text; });
    (void)co_await call->wait();
    fixture.note("never");
  }));
  fixture.scheduler.run_all();
  fixture.cell->mailbox.gate().abandon();
  fixture.workers.run_all();
  CHECK(held.use_count() == 1);
  CHECK(fixture.trace.empty());
}

}  // namespace
}  // namespace spotmesh::runtime::testing
