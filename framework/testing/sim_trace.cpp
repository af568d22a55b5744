#include "testing/sim_trace.hpp"

#include <utility>

namespace spotmesh::testing {
namespace {

constexpr std::uint64_t fnv_prime = 0x100000001b3ULL;

}  // namespace

void SimTrace::fold(std::uint64_t value) {
  for (unsigned shift = 0; shift < 64; shift += 8) {
    hash_ = (hash_ ^ ((value >> shift) & 0xff)) * fnv_prime;
  }
}

void SimTrace::fold(std::string_view text) {
  for (const char byte : text) hash_ = (hash_ ^ static_cast<unsigned char>(byte)) * fnv_prime;
  fold(static_cast<std::uint64_t>(text.size()));
}

void SimTrace::note(std::string line) {
  fold(std::string_view(line));
  lines_.push_back(std::move(line));
  if (lines_.size() > kept_lines) lines_.pop_front();
}

void SimTrace::emit(Event event) {
  std::string line(event.kind);
  line.append(" ").append(event.subject);
  for (const LogField& field : event.fields) {
    line.append(" ").append(field.key).append("=").append(field.value);
  }
  note(std::move(line));
}

std::string SimTrace::text() const {
  std::string text;
  for (const std::string& line : lines_) text.append(line).append("\n");
  return text;
}

}  // namespace spotmesh::testing
