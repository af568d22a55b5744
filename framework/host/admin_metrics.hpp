// Metrics as Prometheus reads them.
#pragma once

#include <string>
#include <vector>

#include "node/node_metrics.hpp"

namespace spotmesh::host {

inline constexpr const char* prometheus_text = "text/plain; version=0.0.4; charset=utf-8";

// What every process has, for a dashboard of any program: when it started, and its open files.
std::vector<node::MetricFamily> process_metrics();

std::string as_prometheus_text(const std::vector<node::MetricFamily>& families);

}  // namespace spotmesh::host
