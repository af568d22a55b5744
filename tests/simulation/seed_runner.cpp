#include "seed_runner.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <optional>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

namespace simulation {
namespace {

// Of this process, so that it means the same on a machine that has other work.
double processor_milliseconds() {
  return static_cast<double>(std::clock()) * 1'000 / CLOCKS_PER_SEC;
}

std::string_view to_string(Ending ending) {
  constexpr std::array<std::string_view, 4> names = {"correct", "WRONG", "STUCK", "CRASHED"};
  return names.at(static_cast<std::size_t>(ending));
}

int exit_code_of(Ending worst) {
  switch (worst) {
    case Ending::Correct:
      return 0;
    case Ending::Wrong:
      return exit_wrong;
    case Ending::Stuck:
      return exit_stuck;
    case Ending::Crashed:
      return exit_crashed;
  }
  return exit_crashed;
}

// A child runs seeds one after the other and says after each how it ended. It is replaced when a
// seed has killed it.
class Child {
 public:
  Child(const std::vector<SeedRun>& runs, std::size_t first, const RunnerOptions& options) {
    std::array<int, 2> ends{};
    if (::pipe(ends.data()) != 0) throw std::runtime_error("no pipe");
    std::fflush(nullptr);
    pid_ = ::fork();
    if (pid_ < 0) throw std::runtime_error("no process");
    if (pid_ == 0) {
      ::close(ends[0]);
      work(runs, first, options, ends[1]);
      std::fflush(nullptr);
      ::_exit(0);
    }
    ::close(ends[1]);
    from_ = ends[0];
  }
  ~Child() {
    ::close(from_);
    if (pid_ != 0) ::waitpid(pid_, nullptr, 0);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  struct Word {
    Ending ending;
    double milliseconds;
    bool is_lost = false;  // it took too long, and was killed
    FaultCounts strikes{};
  };
  // The signal that the child has died of, or how it has left by itself; for people.
  std::string death() {
    int status = 0;
    ::waitpid(std::exchange(pid_, 0), &status, 0);
    return WIFSIGNALED(status)
               ? fmt::format("by signal {} ({})", WTERMSIG(status), ::strsignal(WTERMSIG(status)))
               : fmt::format("with exit code {}", WEXITSTATUS(status));
  }
  // How the next seed ended; nothing when the child has died of it.
  std::optional<Word> next(std::uint64_t longest_seconds) {
    Word word{};
    pollfd waiting{.fd = from_, .events = POLLIN, .revents = 0};
    if (::poll(&waiting, 1, static_cast<int>(longest_seconds * 1'000)) == 0) {
      ::kill(pid_, SIGKILL);
      return Word{Ending::Stuck, static_cast<double>(longest_seconds) * 1'000, true, {}};
    }
    if (::read(from_, &word, sizeof word) == static_cast<ssize_t>(sizeof word)) return word;
    return std::nullopt;
  }

 private:
  static void work(const std::vector<SeedRun>& runs, std::size_t first,
                   const RunnerOptions& options, int to) {
    for (std::size_t i = first; i < runs.size(); ++i) {
      const double begun = processor_milliseconds();
      SeedResult result = runs[i].scenario->run(runs[i].seed);
      const double taken = processor_milliseconds() - begun;
      const bool runs_twice = i % options.repeat_every == 0;
      if (runs_twice && runs[i].scenario->run(runs[i].seed).trace_hash != result.trace_hash) {
        result.ending = std::max(result.ending, Ending::Wrong);
        result.text += "two runs of this seed have different traces\n";
      }
      if (result.ending != Ending::Correct || options.prints_all) {
        fmt::print("{} seed {}: {}", runs[i].scenario->name, runs[i].seed, result.text);
        std::fflush(stdout);
      }
      const Word word{result.ending, taken, false, result.strikes};
      if (::write(to, &word, sizeof word) != static_cast<ssize_t>(sizeof word)) return;
    }
  }

  pid_t pid_ = 0;
  int from_ = -1;
};

std::string replaced(std::string text, std::string_view what, const std::string& with) {
  if (const auto at = text.find(what); at != std::string::npos) text.replace(at, what.size(), with);
  return text;
}

void say_how(const SeedRun& run, Ending ending, const RunnerOptions& options) {
  const std::string command =
      replaced(replaced(options.replay_command, "{scenario}", run.scenario->name), "{seed}",
               std::to_string(run.seed));
  fmt::print("{} seed {}: {}\n", run.scenario->name, run.seed, to_string(ending));
  if (!run.why.empty()) fmt::print("  known: {}\n", run.why);
  fmt::print("  again: {}\n", command);
  std::fflush(stdout);
}

// Prints how often each kind of fault has struck; true when each has, at the beginning too.
bool print_strikes(const std::vector<std::string>& kinds, const FaultCounts& strikes) {
  std::string line;
  bool has_each = true;
  for (std::size_t kind = 0; kind < kinds.size(); ++kind) {
    const FaultCount& count = strikes.at(kind);
    line +=
        fmt::format("{}{} {} ({})", line.empty() ? "" : ", ", kinds[kind], count.all, count.early);
    has_each = has_each && count.early > 0;
  }
  fmt::print("faults that struck (of these in the first ten seconds): {}\n", line);
  return has_each;
}

}  // namespace

int run_seeds(const std::vector<SeedRun>& runs, const RunnerOptions& options) {
  Ending worst = Ending::Correct;
  std::size_t failed = 0;
  std::vector<double> times;
  std::size_t done = 0;
  FaultCounts strikes{};
  while (done < runs.size()) {
    Child child(runs, done, options);
    while (done < runs.size()) {
      const auto word = child.next(options.longest_seconds);
      const SeedRun& run = runs[done++];
      const Ending ending = word ? word->ending : Ending::Crashed;
      if (word) {
        times.push_back(word->milliseconds);
        for (std::size_t kind = 0; kind < strikes.size(); ++kind) {
          strikes[kind].all += word->strikes[kind].all;
          strikes[kind].early += word->strikes[kind].early;
        }
      }
      if (ending == Ending::Correct) continue;
      ++failed;
      worst = std::max(worst, ending);
      say_how(run, ending, options);
      if (!word) fmt::print("  died {}\n", child.death());
      if (!word || word->is_lost) break;
    }
  }
  if (!options.fault_kinds.empty() && !print_strikes(options.fault_kinds, strikes) &&
      options.wants_each_fault) {
    fmt::print("a kind of fault has never struck, or never early\n");
    worst = std::max(worst, Ending::Wrong);
  }
  std::ranges::sort(times);
  if (!times.empty()) {
    const double median = times[times.size() / 2];
    fmt::print("{} seeds: median {:.1f} ms, longest {:.1f} ms\n", times.size(), median,
               times.back());
    if (options.longest_median_ms > 0 && median > options.longest_median_ms) {
      fmt::print("the median seed takes more than {} ms\n", options.longest_median_ms);
      worst = std::max(worst, Ending::Wrong);
    }
  }
  fmt::print("{} passed, {} failed\n", runs.size() - failed, failed);
  return exit_code_of(worst);
}

}  // namespace simulation
