#include "testing/sim_random.hpp"

#include <bit>

#include "testing/sim_trace.hpp"

namespace spotmesh::testing {
namespace {

// splitmix64, which spreads a seed over the whole state.
std::uint64_t next_of(std::uint64_t& state) {
  state += 0x9e3779b97f4a7c15ULL;
  std::uint64_t mixed = state;
  mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9ULL;
  mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebULL;
  return mixed ^ (mixed >> 31);
}

}  // namespace

SimRandom::SimRandom(std::uint64_t seed, std::string_view stream) {
  SimTrace name;
  name.fold(stream);
  std::uint64_t state = seed;
  state = next_of(state) ^ name.hash();
  for (std::uint64_t& word : state_) word = next_of(state);
}

std::uint64_t SimRandom::next_u64() {
  const std::uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
  const std::uint64_t shifted = state_[1] << 17;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= shifted;
  state_[3] = std::rotl(state_[3], 45);
  return result;
}

Duration SimRandom::between(Duration shortest, Duration longest) {
  const auto span = static_cast<std::uint64_t>((longest - shortest).count()) + 1;
  return shortest + Duration(static_cast<Duration::rep>(random_below(*this, span)));
}

}  // namespace spotmesh::testing
