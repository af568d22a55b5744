#include <spotmesh/bytes.hpp>

#include <catch2/catch.hpp>
#include <cstddef>
#include <cstdint>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/count.hpp"
#include "base/pool.hpp"

namespace spotmesh {
namespace {

TEST_CASE("shared bytes are one copy of what they were made of, however often they are copied") {
  Bytes source = to_bytes("a broadcast");
  SharedBytes first(source);
  source.assign(source.size(), std::byte{0});
  const SharedBytes second = first;
  CHECK(second.view().data() == first.view().data());
  first = SharedBytes();
  CHECK(first.empty());
  CHECK(first.size() == 0);
  CHECK(as_text(second.view()) == "a broadcast");
  SharedBytes third(second);
  const SharedBytes fourth(std::move(third));
  CHECK(as_text(fourth.view()) == "a broadcast");
  CHECK(SharedBytes::copy_of({}).empty());
}

TEST_CASE("joined bytes are the first and then the second, whichever of them is empty") {
  const auto joined = [](std::string_view first, std::string_view second) {
    return std::string(as_text(SharedBytes::joined(as_bytes(first), as_bytes(second)).view()));
  };
  CHECK(joined("head", "body") == "headbody");
  CHECK(joined("", "body") == "body");
  CHECK(joined("head", "") == "head");
  CHECK(SharedBytes::joined({}, {}).empty());
}

TEST_CASE("shared bytes of every size are aligned for what FlatBuffers reads in them") {
  for (const std::size_t size : {1, 48, 49, 1000, 1008, 1009, 100'000}) {
    const SharedBytes bytes(Bytes(size, std::byte{7}));
    REQUIRE(bytes.size() == size);
    CHECK(reinterpret_cast<std::uintptr_t>(bytes.view().data()) % 16 == 0);
    CHECK(bytes.view().back() == std::byte{7});
  }
}

TEST_CASE("blocks of the pool are distinct while they are in use, and come back afterwards") {
  constexpr int blocks = 1000;  // several full lists of the thread, and some of the depot
  for (int round = 0; round < 2; ++round) {
    std::vector<int*> taken;
    for (int i = 0; i < blocks; ++i) {
      taken.push_back(new (pool_allocate(200)) int(i));
    }
    for (int i = 0; i < blocks; ++i) {
      CHECK(*taken[static_cast<std::size_t>(i)] == i);
      pool_free(taken[static_cast<std::size_t>(i)], 200);
    }
  }
}

TEST_CASE("a spread count is the sum of what was counted") {
  SpreadCount count;
  for (int i = 0; i < 5; ++i) count.add();
  CHECK(count.value() == 5);
}

}  // namespace
}  // namespace spotmesh
