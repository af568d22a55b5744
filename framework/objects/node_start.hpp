// The start of an ObjectsNode, step by step on the strand.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>

#include <spotmesh/error.hpp>

#include "location/settle.hpp"
#include "objects/core.hpp"
#include "objects/descriptor_publisher.hpp"
#include "objects/objects_node.hpp"
#include "objects/spot_cell.hpp"

namespace spotmesh::objects {

class ObjectsNode::Starting {
 public:
  Starting(Core& core, DescriptorPublisher& publisher, std::function<void(Result<void>)> done)
      : core_(core),
        publisher_(publisher),
        done_(std::move(done)),
        retry_(core, [this] { write_record(); }) {}

  void on_lease(Result<void> acquired);
  // The node stops, or its lease is lost: a start that is still under way has failed.
  void give_up(const Error& error);
  // Whether a record that is being written may yet come to stand. Once the node drains it makes no
  // other.
  bool is_writing() const { return is_writing_; }

 private:
  // Entry Spots one after the other, then the descriptor.
  void next_mesh();
  void make_entry_spot(const MeshTypes& mesh);
  void write_record();
  void on_written(location::AuthorityRecord record, const location::SettleOutcome& outcome);
  void expose(const runtime::Ref<SpotCell>& spot, location::AuthorityRecord record,
              location::StoreVersion version);
  void end(Result<void> result);

  Core& core_;
  DescriptorPublisher& publisher_;
  std::function<void(Result<void>)> done_;
  StrandTimer retry_;
  runtime::Ref<SpotCell> spot_;  // whose record is being written
  bool is_writing_ = false;
  std::size_t next_ = 0;
  std::optional<Error> failure_;  // what adopting the Entry Spot's object found
};

}  // namespace spotmesh::objects
