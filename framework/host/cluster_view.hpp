// ClusterView: asks this node and others for what each of them tells operators.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <spotmesh/error.hpp>
#include <spotmesh/ids.hpp>
#include <spotmesh/time.hpp>

#include "host/own_answers.hpp"
#include "node/node.hpp"
#include "objects/inquiries.hpp"
#include "objects/inspection.hpp"

namespace spotmesh::host {

// Shared by all that is under way for operators. `node` outlives whatever was asked.
class ClusterView {
 public:
  using Answer = Result<objects::InquiryAnswer>;
  using Done = objects::Inquiries::Done;
  using Nodes = std::vector<objects::NodeRow>;

  ClusterView(node::Node& node, std::shared_ptr<OwnAnswers> own)
      : node_(node), own_(std::move(own)) {}

  const NodeRid& self() const { return node_.identity().rid; }
  objects::Core& core() const { return node_.objects().core(); }
  OwnAnswers& own() const { return *own_; }

  // Any thread; `done` is called on the strand. All that this node knows of, by their RID.
  void nodes(std::function<void(Nodes)> done) const;
  // Strand only, and so is what follows; `done` is called there once, unless this node ends before.
  // A node that is known to be out of reach is not asked, and the error says why.
  void ask(const objects::NodeRow& node, const objects::Inquiry& inquiry, Instant deadline,
           Done done) const;
  // All of them, so many at a time; the answers are in the order of the nodes.
  void ask_all(Nodes nodes, objects::Inquiry inquiry, Instant deadline,
               std::function<void(Nodes, std::vector<Answer>)> done) const;

  static constexpr std::size_t asked_at_once = 64;

 private:
  node::Node& node_;
  const std::shared_ptr<OwnAnswers> own_;
};

// Null when none of them has that RID.
const objects::NodeRow* find_node(const ClusterView::Nodes& nodes, std::string_view rid);

}  // namespace spotmesh::host
