// One simulated run: a whole game of TicTacToe under the faults that its seed draws.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tictactoe::simulation {

struct RunReport {
  enum class Verdict { Correct, Wrong, Stuck };
  Verdict verdict = Verdict::Correct;
  std::vector<std::string> faults;  // what was wrong, in words
  std::uint64_t trace_hash = 0;
  std::string trace;  // of a run that was not Correct, or if it is wanted
  unsigned drops = 0;
  bool was_draw = false;
};

// Everything in it comes from the seed: who comes first, latencies, the store's faults, lost
// connections, moves. A run is Correct when both players have seen the same lawful end of a round,
// no rule of the runtime was broken, and after an orderly stop the Location Store is empty of
// objects.
RunReport run_game(std::uint64_t seed, bool wants_trace = false);

}  // namespace tictactoe::simulation
