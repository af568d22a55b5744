// Packets of the zoo schema for tests: fixed ones that use every kind of field, and random ones.
#pragma once

#include <random>

#include "zoo.packets.hpp"

namespace zoo {

Cage some_cage();
Tree some_tree();
Everything some_everything();
Required some_required();

// The same for the same state of `random` on every machine. All numbers are finite.
Everything random_everything(std::mt19937_64& random);
Required random_required(std::mt19937_64& random);
Tree random_tree(std::mt19937_64& random, int depth);

}  // namespace zoo
