#include "base/retry_pause.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>

using namespace std::chrono_literals;
using spotmesh::Duration;
using spotmesh::retry_pause;

namespace {

class Spread : public spotmesh::Random {
 public:
  std::uint64_t next_u64() override { return state_ += 0x9e3779b97f4a7c15; }

 private:
  std::uint64_t state_ = 0;
};

}  // namespace

TEST_CASE("a pause doubles with each failure up to the last, and lies in its upper half") {
  struct Row {
    unsigned failures;
    Duration whole;
  };
  for (const auto& [failures, whole] :
       {Row{1, 20ms}, Row{2, 40ms}, Row{5, 320ms}, Row{6, 500ms}, Row{60, 500ms}, Row{0, 20ms}}) {
    INFO(failures << " failures");
    Spread random;
    Duration shortest = Duration::max();
    Duration longest{0};
    for (int i = 0; i < 1000; ++i) {
      const Duration pause = retry_pause(random, failures, 20ms, 500ms);
      shortest = std::min(shortest, pause);
      longest = std::max(longest, pause);
    }
    CHECK(shortest >= whole / 2);
    CHECK(longest <= whole);
    // And everywhere in it.
    CHECK(shortest < whole * 11 / 20);
    CHECK(longest > whole * 19 / 20);
  }
}
