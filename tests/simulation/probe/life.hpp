// Life: one incarnation of one id.
#pragma once

#include <cstdint>
#include <string>

namespace probe {

struct Life {
  std::string id;
  std::uint64_t generation = 0;
  friend auto operator<=>(const Life&, const Life&) = default;
};

// For people.
std::string name_of(const Life& life);

}  // namespace probe
