#include "host/cluster_view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "objects/core.hpp"
#include "objects/node_directory.hpp"

namespace spotmesh::host {
namespace {

// Why a node is not asked.
Error out_of_reach(const objects::NodeRow& node) {
  const std::string& rid = node.descriptor.stamp.rid.text;
  if (node.descriptor.advertised_address.empty()) {
    return Error::unavailable(fmt::format(
        "node {} takes no connections of other nodes (mesh.listen); ask its own admin endpoint",
        rid));
  }
  return Error::unavailable(fmt::format("node {} has fallen silent: its lease has run out", rid));
}

// A node's own row says what it would write into its descriptor, but for its state.
location::HostState host_state(node::NodeState state) {
  switch (state) {
    case node::NodeState::Idle:
    case node::NodeState::Preparing:
      return location::HostState::Preparing;
    case node::NodeState::Serving:
      return location::HostState::Serving;
    case node::NodeState::Draining:
      return location::HostState::Draining;
    case node::NodeState::Stopped:
      return location::HostState::Stopped;
    case node::NodeState::Error:
      break;
  }
  return location::HostState::Error;
}

// One question to many nodes. Kept by what it waits for.
class AskingAll final : public std::enable_shared_from_this<AskingAll> {
 public:
  using Done = std::function<void(ClusterView::Nodes, std::vector<ClusterView::Answer>)>;

  AskingAll(const ClusterView& cluster, ClusterView::Nodes nodes, objects::Inquiry inquiry,
            Instant deadline, Done done)
      : cluster_(cluster),
        nodes_(std::move(nodes)),
        inquiry_(std::move(inquiry)),
        deadline_(deadline),
        done_(std::move(done)),
        answers_(nodes_.size(), fail(Error::unavailable("not asked yet"))),
        unanswered_(nodes_.size()) {}

  void begin() {
    if (nodes_.empty()) return done_({}, {});
    for (std::size_t i = 0; i < ClusterView::asked_at_once && i < nodes_.size(); ++i) ask_next();
  }

 private:
  void ask_next() {
    if (next_ == nodes_.size()) return;
    const std::size_t asked = next_++;
    cluster_.ask(nodes_[asked], inquiry_, deadline_,
                 [self = shared_from_this(), asked](ClusterView::Answer answer) {
                   self->take(asked, std::move(answer));
                 });
  }

  void take(std::size_t asked, ClusterView::Answer answer) {
    answers_[asked] = std::move(answer);
    if (--unanswered_ == 0) return done_(std::move(nodes_), std::move(answers_));
    ask_next();
  }

  const ClusterView cluster_;
  ClusterView::Nodes nodes_;
  const objects::Inquiry inquiry_;
  const Instant deadline_;
  const Done done_;
  std::vector<ClusterView::Answer> answers_;
  std::size_t unanswered_;
  std::size_t next_ = 0;
};

}  // namespace

const objects::NodeRow* find_node(const ClusterView::Nodes& nodes, std::string_view rid) {
  const auto found = std::ranges::find_if(
      nodes, [rid](const auto& node) { return node.descriptor.stamp.rid.text == rid; });
  return found == nodes.end() ? nullptr : &*found;
}

void ClusterView::nodes(std::function<void(Nodes)> done) const {
  objects::Inspection(core()).nodes([done = std::move(done), &node = node_](Nodes nodes) {
    for (objects::NodeRow& row : nodes) {
      if (row.is_self) row.descriptor.state = host_state(node.state());
    }
    std::ranges::sort(nodes, {}, [](const auto& node) { return node.descriptor.stamp.rid.text; });
    done(std::move(nodes));
  });
}

void ClusterView::ask(const objects::NodeRow& node, const objects::Inquiry& inquiry,
                      Instant deadline, Done done) const {
  if (node.is_self) return own_->answer(inquiry, deadline, std::move(done));
  if (node.is_reachable) {
    return core().inquiries->ask(objects::peer_of(node.descriptor.stamp), inquiry, deadline,
                                 std::move(done));
  }
  // Not within the call, as the others.
  core().strand.post([done = std::move(done), error = out_of_reach(node)] { done(fail(error)); });
}

void ClusterView::ask_all(Nodes nodes, objects::Inquiry inquiry, Instant deadline,
                          std::function<void(Nodes, std::vector<Answer>)> done) const {
  std::make_shared<AskingAll>(*this, std::move(nodes), std::move(inquiry), deadline,
                              std::move(done))
      ->begin();
}

}  // namespace spotmesh::host
