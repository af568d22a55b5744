#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <utility>

#include "odd.packets.hpp"
#include "odd.views.hpp"

using spotmesh::Boxed;
using spotmesh::PacketTraits;

TEST_CASE("a schema without a namespace has its packets in the global one", "[packetc]") {
  CHECK(::packets().size() == 4);
  CHECK(PacketTraits<Odd>::descriptor().name == "Odd");
}

TEST_CASE("defaults that are no ordinary numbers are kept", "[packetc]") {
  const Odd odd{.one = OddBox{.small = 1, .large = 2}};
  CHECK(std::isnan(odd.not_a_number));
  CHECK(odd.endless == -std::numeric_limits<double>::infinity());
  CHECK(odd.bits == (OddBits::One | OddBits::Top));
  CHECK(odd.no_bits == OddBits{});
  auto decoded = PacketTraits<Odd>::decode(PacketTraits<Odd>::encode(odd)).value();
  CHECK(std::isnan(decoded.not_a_number));
  decoded.not_a_number = 0;
  auto expected = odd;
  expected.not_a_number = 0;
  CHECK(decoded == expected);
}

TEST_CASE("structs within structs and vectors of them survive", "[packetc]") {
  OddOuter outer;
  outer.inner = {.kind = OddKind::Sixth, .reals = {0.5, -1.5}, .flags = {true, false, true}};
  outer.pair[1] = outer.inner;
  Odd odd{.one = OddBox{}};
  odd.outers = {outer, {}, outer};
  odd.not_a_number = 1;
  const auto bytes = PacketTraits<Odd>::encode(odd);
  CHECK(PacketTraits<Odd>::decode(bytes) == odd);
  const auto view = OddView::of(bytes);
  REQUIRE(view.has_value());
  CHECK(view->outers()[2] == outer);
  CHECK(view->one_as_OddBox()->small() == 0);
}

TEST_CASE("circles through unions and required tables survive", "[packetc]") {
  OddLoop inner;
  inner.leaf.id = "inner";
  inner.self = OddOuter{};
  OddLoop loop;
  loop.leaf.id = "outer";
  loop.leaf.back = inner;
  loop.self = Boxed<OddLoop>(inner);
  loop.selves = {OddOuter{}, Boxed<OddLoop>(inner)};
  CHECK(PacketTraits<OddLoop>::decode(PacketTraits<OddLoop>::encode(loop)) == loop);
}
