// The trace of a simulated run, as a hash and, for a person, its last lines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>

#include "base/log.hpp"

namespace spotmesh::testing {

// Everything that happens is folded in; two runs of one seed must end with the same hash. Addresses
// and anything else that differs between processes must stay out.
class SimTrace final : public EventSink {
 public:
  void fold(std::uint64_t value);
  void fold(std::string_view text);
  // FNV-1a over all that was folded in.
  std::uint64_t hash() const { return hash_; }

  // Folds a line in and remembers it for lines().
  void note(std::string line);
  void emit(Event event) override;
  // The last lines, oldest first.
  const std::deque<std::string>& lines() const { return lines_; }
  std::string text() const;

 private:
  static constexpr std::size_t kept_lines = 200;

  std::uint64_t hash_ = 0xcbf29ce484222325ULL;
  std::deque<std::string> lines_;
};

}  // namespace spotmesh::testing
