#include "server/refusal.hpp"

#include <catch2/catch.hpp>

#include <cstdint>

using namespace tictactoe;
using Catch::Matchers::Contains;
using spotmesh::Error;
using spotmesh::ErrorKind;

TEST_CASE("what the game refuses is told in its own words") {
  CHECK(refusal(Error::rejected("the name is taken")).message() == "the name is taken");
  CHECK(refusal(Error::invalid_operation("cell 4 is taken")).message() == "cell 4 is taken");
}

TEST_CASE("what goes wrong inside keeps its kind, and is told without what is inside") {
  for (std::uint8_t code = 0; code < spotmesh::error_kind_count; ++code) {
    const auto kind = static_cast<ErrorKind>(code);
    if (kind == ErrorKind::Rejected || kind == ErrorKind::InvalidOperation) continue;
    const Error told = refusal(Error(kind, "the store file /srv/cluster.db is on node-1"));
    CAPTURE(told.message());
    CHECK(told.kind() == kind);
    CHECK_THAT(told.message(), !Contains("cluster.db") && !Contains("node-1"));
    CHECK_FALSE(told.message().empty());
  }
}
