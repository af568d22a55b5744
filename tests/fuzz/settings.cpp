// Settings from a hostile file, environment and flags: a ConfigurationError or values, and the
// effective values are a file that gives the same values again.
#include <sys/mman.h>
#include <unistd.h>

#include <spotmesh/settings.hpp>
#include <string>
#include <vector>

#include "fuzz/fuzz.hpp"

namespace spotmesh::fuzz {
namespace {

using namespace std::chrono_literals;

// A file in memory, by a path that can be opened.
class MemoryFile {
 public:
  explicit MemoryFile(std::string_view content)
      : descriptor_(memfd_create("settings", MFD_CLOEXEC)) {
    require(
        write(descriptor_, content.data(), content.size()) == static_cast<ssize_t>(content.size()),
        "a file in memory can be written");
  }
  ~MemoryFile() { close(descriptor_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

 private:
  int descriptor_;
};

struct Sources {
  std::string file;
  std::vector<std::string> flags;
  Settings::Environment environment;
};

// The file up to a line "%"; then one flag or variable on each line.
Sources sources_of(std::string_view text) {
  Sources sources;
  const auto end = text.find("\n%\n");
  sources.file = text.substr(0, end);
  if (end == text.npos) return sources;
  text.remove_prefix(end + 3);
  while (!text.empty()) {
    const auto line = text.substr(0, text.find('\n'));
    const auto equals = line.find('=');
    if (line.starts_with("SPOTMESH_") && equals != line.npos) {
      sources.environment.emplace(line.substr(0, equals), line.substr(equals + 1));
    } else if (!line.starts_with("--config")) {
      sources.flags.emplace_back(line);
    }
    text.remove_prefix(std::min(line.size() + 1, text.size()));
  }
  return sources;
}

struct Values {
  std::string host;
  std::int64_t port;
  bool is_open;
  std::chrono::milliseconds interval;
  std::vector<std::string> origins;
  std::string level;
  std::string effective;
};

Values read(const Sources& sources) {
  const MemoryFile file(sources.file);
  auto flags = sources.flags;
  flags.push_back("--config=" + file.path());
  Settings settings(flags, sources.environment);
  Values values{
      .host = settings.text("stream.host", "127.0.0.1", "Where to listen"),
      .port = settings.integer("stream.port", 7777, {0, 65535}, "The port"),
      .is_open = settings.boolean("stream.open", false, "Whether anyone may come"),
      .interval = settings.duration("stream.heartbeat", 15s, {10ms, 24h}, "How often to ping"),
      .origins = settings.texts("stream.origins", {"a", "b,c"}, "Who may connect"),
      .level = settings.choice("log.level", "info", {"debug", "info", "error"}, "What to log"),
      .effective = {}};
  settings.check();
  values.effective = settings.effective();
  return values;
}

bool are_same(const Values& a, const Values& b) {
  return a.host == b.host && a.port == b.port && a.is_open == b.is_open &&
         a.interval == b.interval && a.origins == b.origins && a.level == b.level;
}

}  // namespace

void run(ByteView input) {
  try {
    const Values values = read(sources_of(as_text(input)));
    try {
      const Values again = read({.file = values.effective, .flags = {}, .environment = {}});
      require(are_same(values, again), "effective settings give the same values again");
    } catch (const ConfigurationError& error) {
      require(false, error.what());
    }
  } catch (const ConfigurationError&) {
    return;
  }
}

}  // namespace spotmesh::fuzz
