#include <spotmesh/logger.hpp>

#include <utility>

#include "base/log.hpp"

namespace spotmesh {
namespace {

using OwnFields = std::vector<std::pair<std::string_view, std::string>>;

void write(LogSink& sink, LogLevel level, std::string_view component, std::string message,
           const OwnFields& own_fields, Logger::Fields fields) {
  if (!sink.is_enabled(level)) return;
  std::vector<LogField> all;
  all.reserve(own_fields.size() + fields.size());
  for (const auto& [key, value] : own_fields) all.push_back({key, value});
  for (const auto& [key, value] : fields) all.push_back({key, value});
  sink.write(level, component, std::move(message), std::move(all));
}

}  // namespace

void Logger::debug(std::string message, Fields fields) const {
  write(*sink_, LogLevel::Debug, component_, std::move(message), own_fields_, fields);
}
void Logger::info(std::string message, Fields fields) const {
  write(*sink_, LogLevel::Info, component_, std::move(message), own_fields_, fields);
}
void Logger::warning(std::string message, Fields fields) const {
  write(*sink_, LogLevel::Warning, component_, std::move(message), own_fields_, fields);
}
void Logger::error(std::string message, Fields fields) const {
  write(*sink_, LogLevel::Error, component_, std::move(message), own_fields_, fields);
}

}  // namespace spotmesh
