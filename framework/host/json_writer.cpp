#include "host/json_writer.hpp"

#include <utility>

#include "host/log_format.hpp"

namespace spotmesh::host {

void JsonWriter::separate() {
  if (std::exchange(needs_comma_, true)) out_ += ',';
}

void JsonWriter::begin(char bracket) {
  separate();
  out_ += bracket;
  needs_comma_ = false;
}

void JsonWriter::begin(char bracket, std::string_view key) {
  write_key(key);
  out_ += bracket;
  needs_comma_ = false;
}

void JsonWriter::end(char bracket) {
  out_ += bracket;
  needs_comma_ = true;
}

void JsonWriter::write_key(std::string_view key) {
  separate();
  add_json_string(out_, key);
  out_ += ':';
}

void JsonWriter::write(std::string_view key, std::string_view raw) {
  write_key(key);
  out_ += raw;
}

void JsonWriter::text(std::string_view value) {
  separate();
  add_json_string(out_, value);
}

void JsonWriter::raw(std::string_view json) {
  separate();
  out_ += json;
}

void JsonWriter::field(std::string_view key, std::string_view value) {
  write_key(key);
  add_json_string(out_, value);
}

std::string JsonWriter::take() {
  out_ += '\n';
  return std::move(out_);
}

}  // namespace spotmesh::host
