// Table: rows of texts in aligned columns.
#pragma once

#include <cstddef>
#include <ostream>
#include <string>
#include <vector>

namespace spotmesh::cli {

// Rows come in parts, as a long list does: a column is as wide as the widest text so far.
class Table {
 public:
  explicit Table(std::vector<std::string> header);

  // As many cells as the header has, each fit for a terminal.
  void add(std::vector<std::string> cells);
  // Prints what has been added since the last time, below the header when it is the first.
  void print(std::ostream& out);

 private:
  void print_row(const std::vector<std::string>& cells, std::ostream& out) const;
  void widen(const std::vector<std::string>& cells);

  const std::vector<std::string> header_;
  std::vector<std::size_t> widths_;
  std::vector<std::vector<std::string>> rows_;
  bool has_header_ = false;
};

}  // namespace spotmesh::cli
