#include "unit/packetc/zoo/values.hpp"

#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>

namespace zoo {

using spotmesh::Boxed;

Cage some_cage() {
  Cage cage;
  cage.id = 0xfedcba9876543210U;
  cage.corners = {{{1, -2}, {3, -4}, {5, -6}, {7, -32768}}};
  cage.lock = {std::byte{1}, std::byte{0}, std::byte{255}};
  cage.moods = {common::Mood::Angry, common::Mood::Glad};
  cage.open = true;
  cage.ratio = -0.25F;
  cage.offsets = {-1, 9007199254740993};
  return cage;
}

Tree some_tree() {
  Tree tree{.name = "root"};
  tree.left.emplace(Tree{.name = "left"});
  tree.left->right.emplace(Tree{.name = "left right"});
  tree.children = {Tree{.name = "first"}, Tree{}};
  Lion lion{.roar = 7};
  lion.den.emplace(Tree{.name = "den"});
  tree.children[1].animal = Boxed<Lion>(lion);
  tree.animal = Fish{.name = "Wanda", .tank = some_cage()};
  return tree;
}

Everything some_everything() {
  Everything all;
  all.flag = false;
  all.small = 127;
  all.octet = 0;
  all.word = 1;
  all.uword = 2;
  all.number = -3;
  all.unumber = 4;
  all.big = 5;
  all.ubig = 6;
  all.real = 7.25F;
  all.precise = -8.5;
  all.mood = common::Mood::Calm;
  all.powers = common::Power::Swim;
  all.size = Size::Small;
  all.maybe_flag = false;
  all.maybe_number = 0;
  all.maybe_big = 0;
  all.maybe_mood = common::Mood::Calm;
  all.maybe_real = 0.0;
  all.text = "zwölf Boxkämpfer";
  all.blob = spotmesh::to_bytes("\x01\xff bytes");
  all.place = common::Point{.x = 1, .y = -1};
  all.cage = some_cage();
  all.label = common::Label{.text = "label"};
  all.tree = some_tree();
  all.animal = common::Point{.x = 3, .y = 4};
  all.flags = {true, false, true};
  all.numbers = {1, -2, 3};
  all.smalls = {-128, 127};
  all.bigs = {1, -9007199254740993};
  all.ubigs = {18446744073709551615U};
  all.reals = {0.5F};
  all.precises = {0.1, -0.0};
  all.moods = {common::Mood::Angry, common::Mood::Glad};
  all.power_sets = {common::Power{}, common::Power::Fly | common::Power::Dig};
  all.texts = {"", "one", "two"};
  all.places = {{.x = 1, .y = 2}, {.x = 3, .y = 4}};
  all.cages = {some_cage(), {}};
  all.labels = {{.text = "a"}, {.text = "", .mood = common::Mood::Angry}};
  all.animals = {Fish{.name = "f"}, Animal(std::in_place_index<4>, "a note"),
                 Animal(std::in_place_index<5>, "another"), common::Point{.x = 9},
                 Boxed<Lion>(Lion{.roar = 1})};
  return all;
}

Required some_required() {
  return {.text = "",
          .blob = {},
          .numbers = {},
          .place = {.x = 1, .y = 2},
          .label = {.text = "l"},
          .animal = common::Point{},
          .labels = {}};
}

namespace {

std::uint64_t below(std::mt19937_64& random, std::uint64_t bound) { return random() % bound; }

template <typename T>
T integer(std::mt19937_64& random) {
  // Small numbers and extremes are as likely as the rest.
  switch (below(random, 4)) {
    case 0:
      return static_cast<T>(below(random, 3));
    case 1:
      return below(random, 2) == 0 ? std::numeric_limits<T>::min() : std::numeric_limits<T>::max();
    default:
      return static_cast<T>(random());
  }
}

template <typename T>
T real(std::mt19937_64& random) {
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  if (below(random, 4) == 0) return static_cast<T>(below(random, 5)) - T{2};
  for (;;) {
    const auto value = std::bit_cast<T>(static_cast<Bits>(random()));
    if (std::isfinite(value)) return value;
  }
}

std::string text(std::mt19937_64& random) {
  static const std::array<const char*, 8> parts = {
      "a", "\n", "\"", "\\", "\xc3\xa9", "\xf0\x9f\x8e\xb2", "\x7f", "\x01"};
  std::string result;
  for (auto count = below(random, 6); count > 0; --count)
    result += parts[below(random, parts.size())];
  return result;
}

common::Mood mood(std::mt19937_64& random) {
  return static_cast<common::Mood>(static_cast<int>(below(random, 3)) - 1);
}

common::Power powers(std::mt19937_64& random) {
  constexpr std::array flags = {common::Power::Fly, common::Power::Swim, common::Power::Dig};
  common::Power result{};
  for (const auto flag : flags) {
    if (below(random, 2) == 0) result |= flag;
  }
  return result;
}

common::Point point(std::mt19937_64& random) {
  return {.x = integer<std::int16_t>(random), .y = integer<std::int16_t>(random)};
}

common::Label label(std::mt19937_64& random) {
  return {.text = text(random), .mood = mood(random)};
}

Cage cage(std::mt19937_64& random) {
  Cage cage;
  cage.id = integer<std::uint64_t>(random);
  for (auto& corner : cage.corners) corner = point(random);
  for (auto& octet : cage.lock) octet = static_cast<std::byte>(random());
  for (auto& entry : cage.moods) entry = mood(random);
  cage.open = below(random, 2) == 0;
  cage.ratio = real<float>(random);
  for (auto& offset : cage.offsets) offset = integer<std::int64_t>(random);
  return cage;
}

template <typename Make>
auto list(std::mt19937_64& random, Make make) {
  std::vector<decltype(make(random))> values;
  for (auto count = below(random, 4); count > 0; --count) values.push_back(make(random));
  return values;
}

template <typename Make>
std::optional<std::invoke_result_t<Make, std::mt19937_64&>> maybe(std::mt19937_64& random,
                                                                  Make make) {
  if (below(random, 2) == 0) return std::nullopt;
  return make(random);
}

Animal animal(std::mt19937_64& random, int depth) {
  switch (below(random, 5)) {
    case 0: {
      Lion lion{.roar = integer<std::int32_t>(random)};
      if (depth > 0 && below(random, 2) == 0) lion.den = random_tree(random, depth - 1);
      return spotmesh::Boxed<Lion>(lion);
    }
    case 1:
      return Fish{.name = text(random), .tank = maybe(random, cage)};
    case 2:
      return point(random);
    case 3:
      return Animal(std::in_place_index<4>, text(random));
    default:
      return Animal(std::in_place_index<5>, text(random));
  }
}

Animal shallow_animal(std::mt19937_64& random) { return animal(random, 1); }

bool flag(std::mt19937_64& random) { return below(random, 2) == 0; }

Size size(std::mt19937_64& random) { return flag(random) ? Size::Small : Size::Huge; }

spotmesh::Bytes blob(std::mt19937_64& random) {
  return list(random, [](auto& source) { return static_cast<std::byte>(source()); });
}

void fill_scalars(Everything& all, std::mt19937_64& random) {
  all.flag = flag(random);
  all.small = integer<std::int8_t>(random);
  all.octet = integer<std::uint8_t>(random);
  all.word = integer<std::int16_t>(random);
  all.uword = integer<std::uint16_t>(random);
  all.number = integer<std::int32_t>(random);
  all.unumber = integer<std::uint32_t>(random);
  all.big = integer<std::int64_t>(random);
  all.ubig = integer<std::uint64_t>(random);
  all.real = real<float>(random);
  all.precise = real<double>(random);
  all.mood = mood(random);
  all.powers = powers(random);
  all.size = size(random);
  all.maybe_flag = maybe(random, flag);
  all.maybe_number = maybe(random, integer<std::int32_t>);
  all.maybe_big = maybe(random, integer<std::uint64_t>);
  all.maybe_mood = maybe(random, mood);
  all.maybe_real = maybe(random, real<double>);
}

}  // namespace

Tree random_tree(std::mt19937_64& random, int depth) {
  Tree tree{.name = text(random)};
  if (depth == 0) return tree;
  if (flag(random)) tree.left = random_tree(random, depth - 1);
  if (flag(random)) tree.right = random_tree(random, depth - 1);
  tree.children = list(random, [&](auto& source) { return random_tree(source, depth - 1); });
  if (flag(random)) tree.animal = animal(random, depth - 1);
  return tree;
}

Everything random_everything(std::mt19937_64& random) {
  Everything all;
  if (flag(random)) fill_scalars(all, random);
  all.text = text(random);
  all.blob = blob(random);
  all.place = maybe(random, point);
  all.cage = maybe(random, cage);
  all.label = maybe(random, label);
  if (flag(random)) all.tree = random_tree(random, 2);
  if (flag(random)) all.animal = shallow_animal(random);
  all.flags = list(random, flag);
  all.numbers = list(random, integer<std::int32_t>);
  all.smalls = list(random, integer<std::int8_t>);
  all.bigs = list(random, integer<std::int64_t>);
  all.ubigs = list(random, integer<std::uint64_t>);
  all.reals = list(random, real<float>);
  all.precises = list(random, real<double>);
  all.moods = list(random, mood);
  all.power_sets = list(random, powers);
  all.texts = list(random, text);
  all.places = list(random, point);
  all.cages = list(random, cage);
  all.labels = list(random, label);
  all.animals = list(random, shallow_animal);
  return all;
}

Required random_required(std::mt19937_64& random) {
  return {.text = text(random),
          .blob = blob(random),
          .numbers = list(random, integer<std::int32_t>),
          .place = point(random),
          .label = label(random),
          .animal = shallow_animal(random),
          .labels = list(random, label)};
}

}  // namespace zoo
