// Collects generated text line by line.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>

namespace spotmesh::packetc {

class Writer {
 public:
  void line() { text_ += '\n'; }
  void line(std::string_view text) {
    text_ += text;
    text_ += '\n';
  }
  template <typename First, typename... Rest>
  void line(fmt::format_string<First, Rest...> format, First&& first, Rest&&... rest) {
    line(std::string_view(
        fmt::format(format, std::forward<First>(first), std::forward<Rest>(rest)...)));
  }

  // Moves to another namespace ("" is the global one); nothing happens when it is the current one.
  void enter_namespace(const std::string& name) {
    if (name == namespace_) return;
    if (!namespace_.empty()) line("}}  // namespace {}\n", namespace_);
    if (!name.empty()) line("namespace {} {{\n", name);
    namespace_ = name;
  }

  const std::string& text() const { return text_; }

 private:
  std::string text_;
  std::string namespace_;
};

}  // namespace spotmesh::packetc
