#include "cli/table.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

#include "cli/terminal_text.hpp"

namespace spotmesh::cli {
namespace {

constexpr std::size_t gap = 2;

}  // namespace

Table::Table(std::vector<std::string> header)
    : header_(std::move(header)), widths_(header_.size(), 0) {
  widen(header_);
}

void Table::add(std::vector<std::string> cells) {
  assert(cells.size() == header_.size());
  widen(cells);
  rows_.push_back(std::move(cells));
}

void Table::print(std::ostream& out) {
  if (!std::exchange(has_header_, true)) print_row(header_, out);
  for (const auto& row : rows_) print_row(row, out);
  rows_.clear();
  out.flush();
}

void Table::widen(const std::vector<std::string>& cells) {
  for (std::size_t i = 0; i < cells.size(); ++i) {
    widths_[i] = std::max(widths_[i], columns_of(cells[i]));
  }
}

// Without spaces at the end of a line.
void Table::print_row(const std::vector<std::string>& cells, std::ostream& out) const {
  std::string line;
  std::size_t missing = 0;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (!cells[i].empty()) {
      line.append(missing, ' ');
      line += cells[i];
      missing = 0;
    }
    missing += widths_[i] - columns_of(cells[i]) + gap;
  }
  out << line << '\n';
}

}  // namespace spotmesh::cli
