// How libFuzzer calls a target.
#include <cstdio>
#include <cstdlib>

#include "fuzz/fuzz.hpp"

namespace spotmesh::fuzz {

void require(bool holds, const char* claim) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %s\n", claim);
  std::abort();
}

}  // namespace spotmesh::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  spotmesh::fuzz::run({reinterpret_cast<const std::byte*>(data), size});
  return 0;
}
