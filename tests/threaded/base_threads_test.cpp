// What every message passes through, from several threads at once.
#include <catch2/catch.hpp>
#include <deque>
#include <mutex>
#include <new>
#include <thread>
#include <vector>

#include "base/count.hpp"
#include "base/pool.hpp"
#include "base/small_mutex.hpp"

using namespace spotmesh;

TEST_CASE("a small mutex lets one thread in at a time, however many want to") {
  constexpr int threads = 4;
  constexpr int times = 20'000;
  SmallMutex mutex;
  long entered = 0;
  {
    std::vector<std::jthread> running;
    for (int i = 0; i < threads; ++i) {
      running.emplace_back([&] {
        for (int time = 0; time < times; ++time) {
          const std::lock_guard lock(mutex);
          ++entered;
          // Held across a pause now and then, so that the others have to sleep.
          if (time % 1000 == 0) std::this_thread::yield();
        }
      });
    }
  }
  CHECK(entered == long{threads} * times);
  CHECK(mutex.try_lock());
  CHECK_FALSE(mutex.try_lock());
  mutex.unlock();
}

TEST_CASE("blocks of the pool cross over from the thread that frees to the one that gets") {
  constexpr int blocks = 100'000;
  std::mutex mutex;
  std::deque<int*> crossing;
  bool is_sound = true;
  {
    std::jthread maker([&] {
      for (int i = 0; i < blocks; ++i) {
        int* block = new (pool_allocate(300)) int(i);
        const std::lock_guard lock(mutex);
        crossing.push_back(block);
      }
    });
    std::jthread ender([&] {
      for (int i = 0; i < blocks;) {
        int* block = nullptr;
        {
          const std::lock_guard lock(mutex);
          if (!crossing.empty()) {
            block = crossing.front();
            crossing.pop_front();
          }
        }
        if (block == nullptr) {
          std::this_thread::yield();
          continue;
        }
        is_sound = is_sound && *block == i;
        pool_free(block, 300);
        ++i;
      }
    });
  }
  CHECK(is_sound);
}

TEST_CASE("a spread count misses nothing that threads count at once") {
  SpreadCount count;
  {
    std::vector<std::jthread> running;
    for (int i = 0; i < 4; ++i) {
      running.emplace_back([&] {
        for (int time = 0; time < 10'000; ++time) count.add();
      });
    }
  }
  CHECK(count.value() == 40'000);
}
