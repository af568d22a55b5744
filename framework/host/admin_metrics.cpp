#include "host/admin_metrics.hpp"

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>
#include <utility>

#include <spotmesh/version.hpp>

namespace spotmesh::host {
namespace {

node::MetricFamily single(std::string name, std::string help, bool is_counter, double value) {
  return {std::move(name), std::move(help), is_counter, {{{}, value}}};
}

double processor_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

double resident_bytes() {
  // Pages: all, and those that are resident.
  std::ifstream file("/proc/self/statm");
  std::uint64_t all = 0;
  std::uint64_t resident = 0;
  file >> all >> resident;
  return static_cast<double>(resident) * static_cast<double>(sysconf(_SC_PAGESIZE));
}

double open_files() {
  std::error_code error;
  const std::filesystem::directory_iterator files("/proc/self/fd", error);
  return error ? 0 : static_cast<double>(std::distance(files, {}));
}

}  // namespace

std::vector<node::MetricFamily> process_metrics() {
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  std::vector<node::MetricFamily> families;
  families.push_back({"spotmesh_build_info",
                      "1, with the version of the framework",
                      false,
                      {{{{"version", std::string(linked_version())}}, 1}}});
  families.push_back(
      single("process_cpu_seconds_total", "processor time", true, processor_seconds()));
  families.push_back(
      single("process_resident_memory_bytes", "memory that is resident", false, resident_bytes()));
  families.push_back(single("process_open_fds", "open files", false, open_files()));
  families.push_back(single("process_max_fds", "files that may be open", false,
                            static_cast<double>(files.rlim_cur)));
  return families;
}

std::string as_prometheus_text(const std::vector<node::MetricFamily>& families) {
  std::vector<prometheus::MetricFamily> all;
  all.reserve(families.size());
  for (const node::MetricFamily& family : families) {
    prometheus::MetricFamily& out = all.emplace_back();
    out.name = family.name;
    out.help = family.help;
    out.type = family.is_counter ? prometheus::MetricType::Counter : prometheus::MetricType::Gauge;
    for (const node::MetricSample& sample : family.samples) {
      prometheus::ClientMetric& metric = out.metric.emplace_back();
      for (const auto& [name, value] : sample.labels) metric.label.push_back({name, value});
      (family.is_counter ? metric.counter.value : metric.gauge.value) = sample.value;
    }
  }
  return prometheus::TextSerializer().Serialize(all);
}

}  // namespace spotmesh::host
