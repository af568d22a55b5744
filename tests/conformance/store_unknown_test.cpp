#include <catch2/catch.hpp>
#include <string>

#include "store_providers.hpp"

using namespace spotmesh;
using namespace spotmesh::location;
using namespace spotmesh::testing;
using Outcome = spotmesh::location::CommitResult::Outcome;

TEMPLATE_TEST_CASE("an unknown commit is settled by the next answer and never changes after it",
                   "[STORE-02]", SqliteProvider, RedisProvider, SimProvider) {
  TestType provider;
  StoreCalls calls = provider.connect();
  StoreCalls observer = provider.connect();
  for (int round = 0; round < 20; ++round) {
    const auto kind = round % 2 == 0 ? Unknown::Applied : Unknown::Lost;
    const StoreVersion before = calls.put("key", "before");
    provider.make_next_unknown(0, kind);
    const auto unknown = calls.commit({.epoch = {},
                                       .conditions = {same("key", before)},
                                       .writes = {put("key", "after"), put("other", "after")}});
    REQUIRE(unknown.outcome == Outcome::Unknown);
    CHECK_FALSE(unknown.message.empty());

    // A reading is answered although nothing else is committed.
    const std::string settled = calls.get_text("key");
    CHECK(settled == (kind == Unknown::Applied ? "after" : "before"));
    const auto version = calls.get("key")->version;
    CHECK((version == before) == (kind == Unknown::Lost));

    CHECK(calls.put("later", "x").counter > version.counter);
    CHECK(observer.get("key")->version == version);
    // All or nothing holds for it as well.
    CHECK(observer.get_text("other") == (kind == Unknown::Applied ? "after" : "(absent)"));
    calls.commit({.epoch = {}, .conditions = {}, .writes = {erase("other")}});
  }
}

TEMPLATE_TEST_CASE(
    "a retry under the same conditions after an unknown outcome applies at most once", "[STORE-02]",
    SqliteProvider, RedisProvider, SimProvider) {
  TestType provider;
  StoreCalls calls = provider.connect();
  for (const auto kind : {Unknown::Applied, Unknown::Lost}) {
    const StoreVersion before = calls.put("key", "before");
    const Commit commit = {
        .epoch = {}, .conditions = {same("key", before)}, .writes = {put("key", "after")}};
    provider.make_next_unknown(0, kind);
    REQUIRE(calls.commit(commit).outcome == Outcome::Unknown);
    const auto retry = calls.commit(commit);
    CHECK(retry.outcome == (kind == Unknown::Applied ? Outcome::Conflict : Outcome::Ok));
    CHECK(calls.get_text("key") == "after");
  }
}
