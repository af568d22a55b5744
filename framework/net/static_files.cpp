#include "net/static_files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <optional>
#include <vector>

namespace spotmesh::net {

namespace {

constexpr std::size_t longest_path = 1024;

TextResponse not_found() { return {404, "there is no such page", {}}; }

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::optional<std::string> percent_decoded(std::string_view text) {
  std::string decoded;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      decoded += text[i];
      continue;
    }
    if (i + 2 >= text.size()) return std::nullopt;
    const int high = hex_digit(text[i + 1]);
    const int low = hex_digit(text[i + 2]);
    if (high < 0 || low < 0) return std::nullopt;
    decoded += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return decoded;
}

// The names on the way to the file. Nothing when a part is one that is never served.
std::optional<std::vector<std::string>> parts_of(std::string_view path) {
  if (!path.starts_with('/') || path.size() > longest_path) return std::nullopt;
  std::vector<std::string> parts;
  path.remove_prefix(1);
  for (bool is_last = false; !is_last;) {
    const auto slash = path.find('/');
    is_last = slash == std::string_view::npos;
    // Decoded part by part: an encoded slash does not make a path of a name.
    auto part = percent_decoded(path.substr(0, slash));
    if (!part) return std::nullopt;
    if (is_last && part->empty()) *part = "index.html";
    if (part->empty() || part->starts_with('.')) return std::nullopt;
    if (part->find_first_of(std::string_view("/\\\0", 3)) != std::string::npos) return std::nullopt;
    parts.push_back(std::move(*part));
    if (!is_last) path.remove_prefix(slash + 1);
  }
  return parts;
}

// Every step starts from the directory before it and follows no link, so whatever is renamed
// meanwhile, the result lies below the first directory.
OpenFile open_below(const std::string& directory, const std::vector<std::string>& parts) {
  OpenFile at(open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  for (std::size_t i = 0; i < parts.size() && at.is_open(); ++i) {
    const bool is_last = i + 1 == parts.size();
    // O_NONBLOCK: opening a pipe that lies there must not wait for its writer.
    const int flags = O_RDONLY | O_NOFOLLOW | O_CLOEXEC | (is_last ? O_NONBLOCK : O_DIRECTORY);
    at = OpenFile(openat(at.descriptor(), parts[i].c_str(), flags));
  }
  return at;
}

std::string_view content_type_of(std::string_view name) {
  struct Type {
    std::string_view suffix;
    std::string_view type;
  };
  static constexpr std::array types{Type{".html", "text/html; charset=utf-8"},
                                    Type{".css", "text/css; charset=utf-8"},
                                    Type{".js", "text/javascript; charset=utf-8"},
                                    Type{".mjs", "text/javascript; charset=utf-8"},
                                    Type{".json", "application/json"},
                                    Type{".map", "application/json"},
                                    Type{".webmanifest", "application/manifest+json"},
                                    Type{".txt", "text/plain; charset=utf-8"},
                                    Type{".md", "text/plain; charset=utf-8"},
                                    Type{".svg", "image/svg+xml"},
                                    Type{".png", "image/png"},
                                    Type{".jpg", "image/jpeg"},
                                    Type{".jpeg", "image/jpeg"},
                                    Type{".gif", "image/gif"},
                                    Type{".webp", "image/webp"},
                                    Type{".ico", "image/x-icon"},
                                    Type{".woff2", "font/woff2"},
                                    Type{".woff", "font/woff"},
                                    Type{".ttf", "font/ttf"},
                                    Type{".wasm", "application/wasm"},
                                    Type{".mp3", "audio/mpeg"},
                                    Type{".ogg", "audio/ogg"},
                                    Type{".wav", "audio/wav"}};
  for (const Type& type : types) {
    if (name.size() > type.suffix.size() &&
        equal_ignoring_case(name.substr(name.size() - type.suffix.size()), type.suffix)) {
      return type.type;
    }
  }
  return "application/octet-stream";
}

std::string http_date(std::time_t time) {
  static constexpr std::array days{"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  static constexpr std::array months{"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                     "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  std::tm utc{};
  gmtime_r(&time, &utc);
  return fmt::format("{}, {:02} {} {:04} {:02}:{:02}:{:02} GMT",
                     days[static_cast<std::size_t>(utc.tm_wday)], utc.tm_mday,
                     months[static_cast<std::size_t>(utc.tm_mon)], utc.tm_year + 1900, utc.tm_hour,
                     utc.tm_min, utc.tm_sec);
}

}  // namespace

OpenFile::~OpenFile() {
  if (descriptor_ >= 0) close(descriptor_);
}

std::expected<StaticFile, TextResponse> StaticFiles::open(std::string_view path) const {
  if (directory_.empty()) return std::unexpected(not_found());
  const auto parts = parts_of(path);
  if (!parts) return std::unexpected(not_found());
  StaticFile found{.file = open_below(directory_, *parts)};
  struct stat status{};
  if (!found.file.is_open() || fstat(found.file.descriptor(), &status) != 0 ||
      !S_ISREG(status.st_mode)) {
    return std::unexpected(not_found());
  }
  found.bytes = static_cast<std::size_t>(status.st_size);
  if (found.bytes > file_limit_bytes_) {
    return std::unexpected(TextResponse{
        403,
        fmt::format("the file has {} bytes; up to {} are served", found.bytes, file_limit_bytes_),
        {}});
  }
  found.entity_tag =
      fmt::format("\"{:x}-{:x}-{:x}\"", status.st_mtim.tv_sec, status.st_mtim.tv_nsec, found.bytes);
  found.last_modified = http_date(status.st_mtim.tv_sec);
  found.content_type = content_type_of(parts->back());
  // The worker that sends it shall find it in memory.
  posix_fadvise(found.file.descriptor(), 0, 0, POSIX_FADV_WILLNEED);
  return found;
}

std::vector<HttpHeader> headers_of(const StaticFile& file) {
  return {{"Content-Type", std::string(file.content_type)},
          {"ETag", file.entity_tag},
          {"Last-Modified", file.last_modified},
          {"Cache-Control", "no-cache"},
          {"X-Content-Type-Options", "nosniff"}};
}

bool is_current_at_client(const RequestHead& request, const StaticFile& file) {
  return request.has_item("If-None-Match", file.entity_tag) ||
         request.has_item("If-None-Match", "W/" + file.entity_tag) ||
         request.has_item("If-None-Match", "*");
}

}  // namespace spotmesh::net
