// The files of one directory, as they may be served to anyone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <utility>

#include "net/http_message.hpp"

namespace spotmesh::net {

// An open file descriptor that closes itself.
class OpenFile {
 public:
  OpenFile() = default;
  explicit OpenFile(int descriptor) : descriptor_(descriptor) {}
  OpenFile(OpenFile&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  OpenFile& operator=(OpenFile&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  ~OpenFile();

  int descriptor() const { return descriptor_; }
  bool is_open() const { return descriptor_ >= 0; }

 private:
  int descriptor_ = -1;
};

struct StaticFile {
  OpenFile file;
  std::size_t bytes = 0;
  std::string entity_tag;     // changes with the file's size or time of change
  std::string last_modified;  // as HTTP writes dates
  std::string_view content_type;
};

// Names one file below `directory`. Anything else is refused: what leaves the directory, symbolic
// links on the way, names that begin with a dot, everything that is no regular file. Has no state;
// safe from any thread; blocks on the disk.
class StaticFiles {
 public:
  StaticFiles(std::string directory, std::size_t file_limit_bytes)
      : directory_(std::move(directory)), file_limit_bytes_(file_limit_bytes) {}

  // `path` is a request's path, percent-encoded; "/" and paths that end with one mean the
  // index.html there. The refusal is a 404, or a 403 for a file over the limit.
  std::expected<StaticFile, TextResponse> open(std::string_view path) const;

 private:
  const std::string directory_;
  const std::size_t file_limit_bytes_;
};

// The headers of a 200 or 304 for this file. No cache keeps a file without asking whether it has
// changed, so a new version of a game's page is seen at once.
std::vector<HttpHeader> headers_of(const StaticFile& file);

// Whether the client says it has this very version.
bool is_current_at_client(const RequestHead& request, const StaticFile& file);

}  // namespace spotmesh::net
