#include "objects/creation_service.hpp"

#include <utility>

#include <fmt/format.h>

#include <spotmesh/limits.hpp>

#include "objects/core.hpp"
#include "objects/creation_bodies.hpp"
#include "objects/envelope.hpp"
#include "objects/peer_port.hpp"

namespace spotmesh::objects {
namespace {

CreateEnd turned_away(Error error) {
  return {.result = fail(std::move(error)), .is_turned_away = true};
}

bool is_terminal(const CreateEnd& end) {
  if (end.is_turned_away) return false;
  return end.result || location::is_terminal(end.result.error());
}

std::size_t bytes_of(const CreateEnd& end) {
  return end.result ? end.result->reply.payload().size() : end.result.error().message().size();
}

}  // namespace

CreationService::CreationService(Core& core, Creations& creations)
    : core_(core), creations_(creations) {
  core.peers->handle_on_strand(PeerKind::Create,
                               [this](const PeerMessage& message) { return on_create(message); });
  core.peers->handle_on_strand(PeerKind::Withdraw,
                               [this](const PeerMessage& message) { return on_withdraw(message); });
}

Result<void> CreationService::on_create(const PeerMessage& message) {
  auto asked = read_create(message);
  if (!asked) return fail(asked.error());
  const location::OperationKey key{message.from.node, message.from.lifecycle, asked->operation};
  const PeerMessage call = message.without_bytes();
  switch (operations_.admit(key, call, core_.now())) {
    case OperationTable::Admission::Answered:
      return {};
    case OperationTable::Admission::UnderWay:
      admitted(message, asked->operation);
      return {};
    case OperationTable::Admission::Full:
      answer(call, turned_away(Error::capacity_exceeded(fmt::format(
                       "node {} has as many operations of node {}, or of all nodes, under way as "
                       "it takes",
                       core_.identity.rid.text, message.from.node.text))));
      return {};
    case OperationTable::Admission::Begin:
      break;
  }
  const Instant deadline = core_.peers->deadline_of(message, asked->remaining, asked->sent_at);
  if (core_.now() >= deadline) {
    end(key, deadline,
        turned_away(Error::deadline_exceeded(
            fmt::format("{}: it was asked for too late, and nothing was begun",
                        target_name(asked->kind, asked->id)))));
    return {};
  }
  const MeshTypes* mesh = core_.application.find_mesh(asked->mesh);
  if (mesh == nullptr || mesh->server == nullptr) {
    end(key, deadline,
        turned_away(Error::unavailable(fmt::format("node {} serves no objects of mesh '{}'",
                                                   core_.identity.rid.text, asked->mesh))));
    return {};
  }
  auto request = read_create_request(message, core_.application);
  if (!request) {
    end(key, deadline, turned_away(request.error()));
    return {};
  }
  begin(key, message,
        {.kind = asked->kind,
         .id = std::move(asked->id),
         .type = std::move(asked->type),
         .mesh = mesh,
         .accepts_existing = asked->accepts_existing,
         .request = *std::move(request),
         .deadline = deadline,
         .operation = key});
  return {};
}

void CreationService::begin(const location::OperationKey& key, const PeerMessage& message,
                            CreateSpec spec) {
  admitted(message, key.operation);
  const Instant deadline = spec.deadline;
  creations_.begin(std::move(spec), [this, key, deadline](CreateEnd result) {
    end(key, deadline, std::move(result));
  });
}

void CreationService::end(const location::OperationKey& key, Instant deadline, CreateEnd end) {
  // The caller's node goes on, and may have it made elsewhere: the store decides.
  if (!end.result && end.result.error().kind() == ErrorKind::ShuttingDown) {
    end = turned_away(as_seen_elsewhere(end.result.error()));
  }
  const std::size_t bytes = bytes_of(end);
  const bool is_kept = is_terminal(end);
  const OperationTable::Answer give = [this, end = std::move(end)](const PeerMessage& call) {
    answer(call, end);
  };
  if (!is_kept) return operations_.forget(key, give);
  operations_.finish(key, give, bytes, deadline + limits::terminal_record_retention);
}

Result<void> CreationService::on_withdraw(const PeerMessage& message) {
  const auto operation = read_operation(message);
  if (!operation) return fail(operation.error());
  creations_.withdraw({message.from.node, message.from.lifecycle, *operation});
  return {};
}

void CreationService::admitted(const PeerMessage& message, OperationId operation) {
  flatbuffers::FlatBufferBuilder body;
  write_operation(body, operation);
  // Without it the caller knows less of why there is no answer, and nothing else is lost.
  const auto sent = core_.peers->send(message.from, mesh::Lane::Control,
                                      peer_bytes(PeerKind::Admitted, 0, &body));
  if (!sent) core_.log(LogLevel::Info, sent.error().message());
}

void CreationService::answer(const PeerMessage& call, const CreateEnd& end) {
  flatbuffers::FlatBufferBuilder body;
  write_create_answer(body, end);
  core_.peers->answer(call, mesh::Lane::Control, PeerKind::CreateAnswer, &body);
}

}  // namespace spotmesh::objects
