// What a node counts, under the names by which operators know it. The table is in
// framework/docs/observability.md.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "node/node.hpp"
#include "objects/inspection.hpp"

namespace spotmesh::node {

struct MetricSample {
  // Names of code and configuration only. An id is never a label: there is no end of them.
  std::vector<std::pair<std::string, std::string>> labels;
  double value = 0;
};

struct MetricFamily {
  std::string name;  // "spotmesh_…"; that of a counter ends in _total
  std::string help;
  bool is_counter = true;
  std::vector<MetricSample> samples;
};

// Everything that can be read at any time from any thread.
std::vector<MetricFamily> metrics_of(const Node& node);

// Of the objects and their mailboxes, by mesh and type.
std::vector<MetricFamily> metrics_of(const std::vector<objects::CensusRow>& census);

}  // namespace spotmesh::node
