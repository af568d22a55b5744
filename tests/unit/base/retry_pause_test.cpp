#include "base/retry_pause.hpp"

#include <catch2/catch.hpp>
#include <cstdint>

using namespace std::chrono_literals;
using spotmesh::Duration;
using spotmesh::retry_pause;

namespace {

class Fixed : public spotmesh::Random {
 public:
  explicit Fixed(std::uint64_t value) : value_(value) {}
  std::uint64_t next_u64() override { return value_; }

 private:
  std::uint64_t value_;
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
    Fixed low(0);
    Fixed high(UINT64_MAX);
    CHECK(retry_pause(low, failures, 20ms, 500ms) == whole / 2);
    const Duration longest = retry_pause(high, failures, 20ms, 500ms);
    CHECK(longest > whole / 2);
    CHECK(longest <= whole);
  }
}
