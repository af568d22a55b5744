#include <spotmesh/testing/chance.hpp>

#include "testing/sim_random.hpp"

namespace spotmesh::testing {

struct Chance::Stream {
  SimRandom random;
};

Chance::Chance(std::uint64_t seed, std::string_view stream)
    : stream_(std::make_unique<Stream>(Stream{SimRandom(seed, stream)})) {}
Chance::Chance(Chance&&) noexcept = default;
Chance& Chance::operator=(Chance&&) noexcept = default;
Chance::~Chance() = default;

std::uint64_t Chance::next() { return stream_->random.next_u64(); }

std::uint64_t Chance::below(std::uint64_t bound) { return random_below(stream_->random, bound); }

Duration Chance::between(Duration shortest, Duration longest) {
  return stream_->random.between(shortest, longest);
}

}  // namespace spotmesh::testing
