// Clock, randomness and worker threads of the real world.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <cstdio>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "net/os_random.hpp"
#include "net/system_clock.hpp"
#include "net/thread_workers.hpp"
#include "unit/net/waiting.hpp"

using namespace spotmesh;
using namespace spotmesh::net;
using runtime::Workers;

TEST_CASE("the system clock never goes back, and counts from the start of the machine") {
  SystemClock clock;
  timespec boot{};
  clock_gettime(CLOCK_BOOTTIME, &boot);
  Instant before = clock.now();
  CHECK(before.since_origin >= std::chrono::seconds(boot.tv_sec));
  for (int i = 0; i < 10'000; ++i) {
    const Instant now = clock.now();
    REQUIRE(now >= before);
    before = now;
  }
  CHECK(before.since_origin < std::chrono::seconds(boot.tv_sec + 60));
}

TEST_CASE("wall time is the time of the day in milliseconds since 1970") {
  const auto before = std::time(nullptr);
  const auto wall = SystemClock().wall_now().unix_milliseconds;
  const auto after = std::time(nullptr);
  CHECK(wall >= before * 1000);
  CHECK(wall < (after + 1) * 1000);
}

TEST_CASE("random bits do not repeat, whichever thread draws them") {
  OsRandom random;
  OsRandom other;
  constexpr std::size_t each = 20'000;
  std::vector<std::vector<std::uint64_t>> drawn(3);
  {
    std::vector<std::jthread> threads;
    for (std::size_t t = 0; t < drawn.size(); ++t) {
      threads.emplace_back([&, t] {
        OsRandom& source = t == 0 ? other : random;
        for (std::size_t i = 0; i < each; ++i) drawn[t].push_back(source.next_u64());
      });
    }
  }
  std::set<std::uint64_t> distinct;
  std::uint64_t ones = 0;
  std::uint64_t zeros = 0;
  for (const auto& words : drawn) {
    for (const std::uint64_t word : words) {
      distinct.insert(word);
      ones |= word;
      zeros |= ~word;
    }
  }
  CHECK(distinct.size() == each * drawn.size());
  CHECK(ones == ~std::uint64_t{0});
  CHECK(zeros == ~std::uint64_t{0});
}

TEST_CASE("every accepted job runs once, off the calling thread, before stop returns") {
  std::atomic<int> runs{0};
  std::atomic<bool> is_caller{false};
  const auto caller = std::this_thread::get_id();
  ThreadWorkers workers({.cpu_threads = 3, .io_threads = 2, .cpu_queue = 500, .io_queue = 500});
  for (int i = 0; i < 500; ++i) {
    for (const auto pool : {Workers::Pool::Cpu, Workers::Pool::Io}) {
      REQUIRE(workers.post(pool, [&] {
        ++runs;
        if (std::this_thread::get_id() == caller) is_caller = true;
      }));
    }
  }
  workers.stop();
  CHECK(runs == 1000);
  CHECK_FALSE(is_caller);
}

TEST_CASE("a full worker queue refuses with CapacityExceeded and does not run the job") {
  ThreadWorkers workers({.cpu_threads = 1, .io_threads = 1, .cpu_queue = 2, .io_queue = 1});
  Signal started;
  Signal release;
  std::atomic<int> runs{0};
  REQUIRE(workers.post(Workers::Pool::Cpu, [&] {
    started.raise();
    if (release.wait()) ++runs;
  }));
  REQUIRE(started.wait());
  REQUIRE(workers.post(Workers::Pool::Cpu, [&] { ++runs; }));
  REQUIRE(workers.post(Workers::Pool::Cpu, [&] { ++runs; }));
  const auto refused = workers.post(Workers::Pool::Cpu, [&] { runs += 100; });
  REQUIRE_FALSE(refused);
  CHECK(refused.error().kind() == ErrorKind::CapacityExceeded);
  CHECK(refused.error().message() == "2 jobs wait for the cpu workers, as many as may");

  Signal io_ran;
  REQUIRE(workers.post(Workers::Pool::Io, [&] { io_ran.raise(); }));
  CHECK(io_ran.wait());  // the other pool is not held up
  release.raise();
  workers.stop();
  CHECK(runs == 3);
}

TEST_CASE("workers that stop refuse jobs with ShuttingDown") {
  ThreadWorkers workers;
  workers.stop();
  bool has_run = false;
  const auto refused = workers.post(Workers::Pool::Io, [&] { has_run = true; });
  REQUIRE_FALSE(refused);
  CHECK_FALSE(has_run);
  CHECK(refused.error().kind() == ErrorKind::ShuttingDown);
}

TEST_CASE("a job that throws ends the process and says so") {
  int output[2];
  REQUIRE(pipe(output) == 0);
  const pid_t child = fork();
  if (child == 0) {
    dup2(output[1], STDERR_FILENO);
    std::set_terminate([] { _exit(77); });
    ThreadWorkers workers({.cpu_threads = 1, .io_threads = 1});
    [[maybe_unused]] auto posted =
        workers.post(Workers::Pool::Io, [] { throw std::runtime_error("the disk is on fire"); });
    workers.stop();
    _exit(0);
  }
  close(output[1]);
  std::string said;
  char buffer[512];
  for (ssize_t n = 0; (n = read(output[0], buffer, sizeof(buffer))) > 0;) {
    said.append(buffer, static_cast<std::size_t>(n));
  }
  close(output[0]);
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 77);
  CHECK(said.find("a job on the io workers threw: the disk is on fire") != std::string::npos);
}
