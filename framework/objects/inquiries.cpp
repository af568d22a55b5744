#include "objects/inquiries.hpp"

#include <utility>

#include <fmt/format.h>

#include <spotmesh/limits.hpp>

#include "base/utf8.hpp"
#include "objects/core.hpp"
#include "objects/peer_bodies.hpp"
#include "objects/peer_port.hpp"
#include "objects/store_port.hpp"
#include "objects/strand_link.hpp"

namespace spotmesh::objects {
namespace {

using flatbuffers::FlatBufferBuilder;

// What the encoding of an answer adds to its rows is less than this for each.
constexpr std::size_t row_overhead_bytes = 16;

Result<InquiryAnswer> read_answer(const Result<PeerMessage>& message) {
  if (!message) return fail(message.error());
  if (message->kind != PeerKind::InquiryAnswer) {
    return fail(unsound(*message, "it does not answer the call"));
  }
  const auto table = read_body<body::InquiryAnswer>(*message);
  if (!table) return fail(table.error());
  InquiryAnswer answer;
  answer.rows.reserve((*table)->rows()->size());
  for (const auto* row : *(*table)->rows()) {
    if (!is_valid_utf8(view_of(*row))) return fail(unsound(*message, "a row is not UTF-8"));
    answer.rows.push_back(row->str());
  }
  if ((*table)->next() != nullptr) answer.next = (*table)->next()->str();
  return answer;
}

std::size_t bytes_of(const InquiryAnswer& answer) {
  std::size_t bytes = answer.next.value_or("").size() + 1024;
  for (const std::string& row : answer.rows) bytes += row.size() + row_overhead_bytes;
  return bytes;
}

}  // namespace

struct Inquiries::Waiting {
  Waiting(Core& core, Done done, std::function<void()> late)
      : done(std::move(done)), timer(core, std::move(late)) {}
  const Done done;
  StrandTimer timer;
};

Inquiries::~Inquiries() = default;

Inquiries::Inquiries(Core& core) : core_(core) {
  core.peers->handle_on_strand(PeerKind::Inquiry,
                               [this](const PeerMessage& message) { return receive(message); });
}

void Inquiries::ask(const mesh::Peer& node, const Inquiry& inquiry, Instant deadline, Done done) {
  FlatBufferBuilder builder;
  const auto target = builder.CreateString(inquiry.target);
  const auto client = builder.CreateString(inquiry.client);
  const Instant now = core_.now();
  builder.Finish(body::CreateInquiry(builder, target, client, remaining_time(deadline, now),
                                     now.since_origin.count()));
  const std::uint64_t number = ++begun_;
  const auto call =
      core_.peers->call(node, mesh::Lane::Control, PeerKind::Inquiry, &builder, Instant::max(),
                        on_strand(core_, [this, number](const Result<PeerMessage>& answer) {
                          finish(number, read_answer(answer));
                        }));
  if (!call) {
    return core_.strand.post([done = std::move(done), error = call.error()] { done(fail(error)); });
  }
  const auto late = [this, number, call = *call, rid = node.node] {
    core_.peers->forget(call);
    finish(
        number,
        fail(Error::deadline_exceeded(fmt::format("node {} has not answered in time", rid.text))));
  };
  auto& waiting = waiting_[number];
  waiting = std::make_unique<Waiting>(core_, std::move(done), late);
  waiting->timer.arm(deadline);
}

void Inquiries::finish(std::uint64_t number, Result<InquiryAnswer> outcome) {
  const auto ended = waiting_.extract(number);
  if (ended) ended.mapped()->done(std::move(outcome));
}

Result<void> Inquiries::receive(const PeerMessage& message) {
  const auto table = read_body<body::Inquiry>(message);
  if (!table) return fail(table.error());
  if (message.call == 0) return fail(unsound(message, "it is no call"));
  const Inquiry inquiry{(*table)->target()->str(), (*table)->client()->str()};
  if (!is_valid_utf8(inquiry.target) || !is_valid_utf8(inquiry.client)) {
    return fail(unsound(message, "it is not UTF-8"));
  }
  const auto refuse = [&](const Error& error) -> Result<void> {
    core_.peers->refuse(message, mesh::Lane::Control, error);
    return {};
  };
  const std::string& self = core_.identity.rid.text;
  if (!answerer_) {
    return refuse(Error::not_configured(fmt::format("node {} answers no operators", self)));
  }
  if (under_way_ >= under_way_most) {
    return refuse(Error::unavailable(
        fmt::format("node {} has {} questions of operators to answer already", self, under_way_)));
  }
  const Instant deadline =
      core_.peers->deadline_of(message, (*table)->remaining(), (*table)->sent_at());
  ++under_way_;
  answerer_(inquiry, deadline,
            [link = core_.link, call = message.without_bytes()](Result<InquiryAnswer> outcome) {
              link->post([call, outcome = std::move(outcome)](Core& core) {
                core.inquiries->answer(call, outcome);
              });
            });
  return {};
}

void Inquiries::answer(const PeerMessage& call, const Result<InquiryAnswer>& outcome) {
  --under_way_;
  if (!outcome) return core_.peers->refuse(call, mesh::Lane::Control, outcome.error());
  if (const std::size_t bytes = bytes_of(*outcome); bytes > limits::mesh_message_bytes) {
    return core_.peers->refuse(
        call, mesh::Lane::Control,
        Error::capacity_exceeded(fmt::format("the answer has {} bytes, of which a message between "
                                             "nodes holds {}; ask for fewer rows at a time",
                                             bytes, limits::mesh_message_bytes)));
  }
  FlatBufferBuilder builder;
  std::vector<flatbuffers::Offset<flatbuffers::String>> rows;
  rows.reserve(outcome->rows.size());
  for (const std::string& row : outcome->rows) rows.push_back(builder.CreateString(row));
  const auto all = builder.CreateVector(rows);
  const auto next = outcome->next ? builder.CreateString(*outcome->next) : 0;
  builder.Finish(body::CreateInquiryAnswer(builder, all, next));
  core_.peers->answer(call, mesh::Lane::Bulk, PeerKind::InquiryAnswer, &builder);
}

}  // namespace spotmesh::objects
