// Inquiries: what an operator at one node asks of another one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <spotmesh/error.hpp>
#include <spotmesh/time.hpp>

#include "mesh/peers.hpp"
#include "objects/peer_message.hpp"

namespace spotmesh::objects {

class Core;

struct Inquiry {
  std::string target;  // of a request to an admin endpoint: "/v1/actors?limit=100"
  std::string client;  // who asks, for logs
};

// A part of a list, or all of a short one.
struct InquiryAnswer {
  std::vector<std::string> rows;    // JSON, one value each
  std::optional<std::string> next;  // where the next part begins
};

// What the questions and answers say is the operators' business; here they only travel. Small
// questions go ahead in the lane Control; answers wait in Bulk, where they are in nobody's way.
class Inquiries {
 public:
  using Done = std::function<void(Result<InquiryAnswer>)>;
  // Called on the strand; calls `done` once, on any thread, by the deadline.
  using Answerer = std::function<void(const Inquiry&, Instant deadline, Done done)>;

  explicit Inquiries(Core& core);
  ~Inquiries();

  // Before the start. Without one, every question is refused with NotConfigured.
  void answer_with(Answerer answerer) { answerer_ = std::move(answerer); }
  // Strand only; so is `done`, which is called once, after the call, unless this node ends first.
  // Unavailable: that node cannot be reached, or its run has ended. DeadlineExceeded: it has not
  // answered. Else what it said.
  void ask(const mesh::Peer& node, const Inquiry& inquiry, Instant deadline, Done done);

  // Of other nodes, under way here; one more is refused with Unavailable.
  static constexpr std::size_t under_way_most = 256;

 private:
  struct Waiting;

  void finish(std::uint64_t number, Result<InquiryAnswer> outcome);
  Result<void> receive(const PeerMessage& message);
  void answer(const PeerMessage& call, const Result<InquiryAnswer>& outcome);

  Core& core_;
  Answerer answerer_;
  std::size_t under_way_ = 0;
  std::uint64_t begun_ = 0;
  // By number, as in PeerEnds.
  std::map<std::uint64_t, std::unique_ptr<Waiting>> waiting_;
};

}  // namespace spotmesh::objects
