// Journal: what happened, in order.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace spotmesh::objects {

class Journal {
 public:
  void note(std::string line) { lines_.push_back(std::move(line)); }
  const std::vector<std::string>& lines() const { return lines_; }
  std::vector<std::string> take() { return std::exchange(lines_, {}); }
  std::size_t count(std::string_view line) const {
    return static_cast<std::size_t>(std::ranges::count(lines_, line));
  }

 private:
  std::vector<std::string> lines_;
};

}  // namespace spotmesh::objects
