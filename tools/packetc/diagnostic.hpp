// What the compiler tells its user: where, and what is wrong.
#pragma once

#include <expected>
#include <string>
#include <utility>

namespace spotmesh::packetc {

// Line and column count from 1; 0 stands for unknown and is left out of the text.
struct Diagnostic {
  std::string file;
  int line = 0;
  int column = 0;
  std::string message;

  // "game.fbs:3:7: message"
  std::string text() const;
};

template <typename T>
using Checked = std::expected<T, Diagnostic>;

inline std::unexpected<Diagnostic> refuse(Diagnostic diagnostic) {
  return std::unexpected<Diagnostic>(std::move(diagnostic));
}

}  // namespace spotmesh::packetc
