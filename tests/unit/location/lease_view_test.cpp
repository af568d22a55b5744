#include <catch2/catch.hpp>

#include "location/lease_view.hpp"

using namespace spotmesh;
using namespace spotmesh::location;
using namespace std::chrono_literals;
using Catch::Matchers::Contains;

TEST_CASE("the defaults are 5, 15, 3 and 5 seconds and valid", "[STORE-04]") {
  const LeaseConfig config;
  CHECK(config.renew_interval == 5s);
  CHECK(config.ttl == 15s);
  CHECK(config.renew_timeout == 3s);
  CHECK(config.margin == 5s);
  CHECK(config.admission_time() == 10s);
  CHECK(config.quiet_time() == 20s);
  CHECK(validate(config));
}

TEST_CASE("times under which one failed renewal ends the lease are refused", "[STORE-04]") {
  LeaseConfig config;
  config.renew_interval = 7s;
  const auto equal = validate(config);
  REQUIRE_FALSE(equal);
  CHECK(equal.error().kind() == ErrorKind::InvalidOperation);
  CHECK_THAT(equal.error().message(),
             Contains("renew 7 s") && Contains("timeout 3 s") && Contains("TTL 15 s"));
  config.renew_interval = 7s - 1ns;
  CHECK(validate(config));

  config = {};
  config.margin = 15s;
  CHECK_FALSE(validate(config));
  for (auto member : {&LeaseConfig::renew_interval, &LeaseConfig::ttl, &LeaseConfig::renew_timeout,
                      &LeaseConfig::margin}) {
    config = {};
    config.*member = 0s;
    CHECK_FALSE(validate(config));
    config.*member = -1s;
    CHECK_FALSE(validate(config));
  }
}

TEST_CASE("object generations of one lease and of all leases are different", "[ID-05]") {
  GenerationMint first(LeaseGeneration{1});
  GenerationMint second(LeaseGeneration{2});
  CHECK(first.mint()->value == (std::uint64_t{1} << 32 | 1));
  CHECK(first.mint()->value == (std::uint64_t{1} << 32 | 2));
  CHECK(second.mint()->value == (std::uint64_t{2} << 32 | 1));
}

TEST_CASE("a generation that has no room left refuses and never wraps", "[ID-05]") {
  GenerationMint last(LeaseGeneration{max_lease_generation}, 0xffff'ffff);
  const auto largest = last.mint();
  REQUIRE(largest);
  CHECK(largest->value == max_counter);
  for (int i = 0; i < 3; ++i) {
    const auto refused = last.mint();
    REQUIRE_FALSE(refused);
    CHECK(refused.error().kind() == ErrorKind::InternalFailure);
    CHECK_THAT(refused.error().message(), Contains("generation exhausted"));
  }
  CHECK_FALSE(GenerationMint(LeaseGeneration{max_lease_generation + 1}).mint());
  CHECK_FALSE(GenerationMint(LeaseGeneration{0}).mint());
}

TEST_CASE("nothing is created in the quiet time, nor by who does not admit", "[STORE-08]") {
  LeaseView view;
  view.is_held = true;
  view.admission_deadline = Instant{} + 20s;
  view.quiet_until = Instant{} + 15s;
  CHECK(view.admits(Instant{} + 14s));
  CHECK_FALSE(view.may_create(Instant{} + 14s));
  CHECK(view.may_create(Instant{} + 15s));
  CHECK_FALSE(view.admits(Instant{} + 20s));
  CHECK_FALSE(view.may_create(Instant{} + 20s));
  view.is_held = false;
  CHECK_FALSE(view.admits(Instant{} + 1s));
}
