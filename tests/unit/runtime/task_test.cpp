#include <spotmesh/error.hpp>
#include <spotmesh/task.hpp>

#include <catch2/catch.hpp>
#include <memory>
#include <stdexcept>
#include <string>

#include "base/pool.hpp"
#include "runtime/task_driver.hpp"

namespace spotmesh::runtime::testing {
namespace {

template <typename T>
T run(Task<T> task) {
  TaskDriver::start(task);
  REQUIRE(TaskDriver::is_done(task));
  return TaskDriver::take(task);
}

Task<int> number(int value) { co_return value; }
Task<int> throwing() {
  throw std::runtime_error("no number");
  co_return 0;
}

TEST_CASE("a task starts when it is awaited") {
  bool is_started = false;
  auto body = [&]() -> Task<void> {
    is_started = true;
    co_return;
  };
  auto task = body();
  CHECK_FALSE(is_started);
  CHECK(task);
  run(std::move(task));
  CHECK(is_started);
  CHECK_FALSE(Task<void>());
}

TEST_CASE("values and exceptions come out where the task is awaited") {
  auto sum = []() -> Task<int> { co_return co_await number(40) + co_await number(2); };
  CHECK(run(sum()) == 42);
  auto caught = []() -> Task<std::string> {
    try {
      co_await throwing();
    } catch (const std::runtime_error& error) {
      co_return error.what();
    }
    co_return "nothing was thrown";
  };
  CHECK(run(caught()) == "no number");
  CHECK_THROWS_AS(run(throwing()), std::runtime_error);
}

TEST_CASE("a task may return what can only be moved, and take a conversion") {
  auto make = []() -> Task<std::unique_ptr<int>> { co_return std::make_unique<int>(7); };
  auto pass = [&]() -> Task<std::unique_ptr<int>> { co_return co_await make(); };
  CHECK(*run(pass()) == 7);
  auto convert = []() -> Task<std::string> { co_return "text"; };
  CHECK(run(convert()) == "text");
  auto braces = []() -> Task<Result<void>> { co_return {}; };
  CHECK(run(braces()));
}

TEST_CASE("awaiting an empty task does nothing") {
  auto body = []() -> Task<int> {
    co_await Task<void>();
    co_return 1;
  };
  CHECK(run(body()) == 1);
}

TEST_CASE("awaits in conditions and with large temporaries work") {
  auto truth = [](bool value) -> Task<bool> { co_return value; };
  auto body = [&]() -> Task<int> {
    int count = 0;
    while (co_await truth(count < 3)) ++count;
    if (co_await truth(true)) count += co_await number(10);
    co_return count;
  };
  CHECK(run(body()) == 13);
}

TEST_CASE("a chain of a hundred thousand tasks does not grow the stack") {
  struct Chain {
    static Task<int> at(int depth) {
      if (depth == 0) co_return 0;
      co_return co_await at(depth - 1) + 1;
    }
    static Task<int> loop(int times) {
      int sum = 0;
      for (int i = 0; i < times; ++i) sum += co_await number(1);
      co_return sum;
    }
  };
  CHECK(run(Chain::loop(100'000)) == 100'000);
  CHECK(run(Chain::at(100'000)) == 100'000);
}

TEST_CASE("a task that is dropped destroys its frame, started or not") {
  auto held = std::make_shared<int>(1);
  auto body = [](std::shared_ptr<int> value) -> Task<int> { co_return *value; };
  {
    auto task = body(held);
    CHECK(held.use_count() == 2);
  }
  CHECK(held.use_count() == 1);
}

TEST_CASE("pooled blocks come back, and sizes beyond the pool work too") {
  for (const std::size_t size : {1, 64, 65, 1024, 1025, 100'000}) {
    void* block = pool_allocate(size);
    REQUIRE(block != nullptr);
    std::fill_n(static_cast<char*>(block), size, 'x');
    pool_free(block, size);
    void* again = pool_allocate(size);
    std::fill_n(static_cast<char*>(again), size, 'y');
    pool_free(again, size);
  }
  pool_free(nullptr, 64);
}

}  // namespace
}  // namespace spotmesh::runtime::testing
