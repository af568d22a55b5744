#include "cli/watch.hpp"

#include <string>

#include "cli/event_reader.hpp"
#include "cli/event_text.hpp"
#include "cli/json_text.hpp"
#include "cli/terminal_text.hpp"

namespace spotmesh::cli {

Result<void> watch(const AdminClient& client, const WatchOptions& options, Output output) {
  auto reader = EventReader::open(client, options.with_rows);
  if (!reader) return fail(reader.error());
  const Instant end = options.time ? client.now() + *options.time : Instant::max();
  std::uint64_t events = 0;
  while (output.out.good()) {
    const auto message = reader->next(end);
    if (!message) return fail(message.error());
    if (!*message) return {};
    const std::string line =
        options.as_json ? shown_json((*message)->dump()) : event_line(**message);
    if (!line.empty()) output.out << line << std::endl;
    const std::string type = text_at(**message, "type");
    if (type == "gap") {
      if (auto asked = reader->ask_snapshot(); !asked) return asked;
    }
    if (type == "event" && ++events == options.events) return {};
  }
  return {};
}

}  // namespace spotmesh::cli
