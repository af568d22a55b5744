#include "objects/held_authority.hpp"

#include <algorithm>
#include <utility>

namespace spotmesh::objects {
namespace {

AlikeAuthority alike_of(location::AuthorityRecord& record) {
  const auto source =
      record.terminals.empty() ? location::OperationKey{} : record.terminals.front().key;
  return {.state = record.state,
          .kind = record.kind,
          .stable_type = std::move(record.stable_type),
          .owner = std::move(record.owner),
          .mesh = std::move(record.mesh),
          .membership = std::move(record.membership),
          .source_rid = source.source_rid,
          .source_lifecycle = source.source_lifecycle};
}

}  // namespace

std::shared_ptr<const AlikeAuthority> AuthorityParts::find_or_add(AlikeAuthority wanted) {
  const auto found =
      std::ranges::find_if(parts_, [&](const auto& each) { return *each == wanted; });
  if (found != parts_.end()) return *found;
  if (parts_.size() == kept) parts_.erase(parts_.begin());
  return parts_.emplace_back(std::make_shared<const AlikeAuthority>(std::move(wanted)));
}

HeldAuthority::HeldAuthority(location::VersionedAuthority said, AuthorityParts& parts)
    : version_(said.version),
      alike_(parts.find_or_add(alike_of(said.record))),
      object_generation_(said.record.object_generation),
      owner_generation_(said.record.owner_generation),
      takeover_count_(said.record.takeover_count),
      reservation_(said.record.reservation) {
  terminals_.reserve(said.record.terminals.size());
  for (auto& terminal : said.record.terminals) terminals_.push_back(pack(std::move(terminal)));
}

HeldAuthority::Terminal HeldAuthority::pack(location::TerminalRecord terminal) const {
  Terminal packed{.operation = terminal.key.operation,
                  .object_generation = terminal.object_generation,
                  .keep_until = terminal.keep_until,
                  .source = nullptr,
                  .answer = nullptr,
                  .kind = terminal.kind,
                  .outcome = terminal.outcome};
  if (terminal.key.source_rid != alike_->source_rid ||
      terminal.key.source_lifecycle != alike_->source_lifecycle) {
    packed.source = std::make_unique<const Source>(
        Source{std::move(terminal.key.source_rid), terminal.key.source_lifecycle});
  }
  if (terminal.reply.has_value() || terminal.error.has_value()) {
    packed.answer = std::make_unique<const Answer>(
        Answer{std::move(terminal.reply), std::move(terminal.error)});
  }
  return packed;
}

location::TerminalRecord HeldAuthority::unpack(const Terminal& terminal) const {
  location::TerminalRecord unpacked{.key = {.source_rid = alike_->source_rid,
                                            .source_lifecycle = alike_->source_lifecycle,
                                            .operation = terminal.operation},
                                    .kind = terminal.kind,
                                    .outcome = terminal.outcome,
                                    .object_generation = terminal.object_generation,
                                    .reply = {},
                                    .error = {},
                                    .keep_until = terminal.keep_until};
  if (terminal.source != nullptr) {
    unpacked.key.source_rid = terminal.source->rid;
    unpacked.key.source_lifecycle = terminal.source->lifecycle;
  }
  if (terminal.answer != nullptr) {
    unpacked.reply = terminal.answer->reply;
    unpacked.error = terminal.answer->error;
  }
  return unpacked;
}

location::AuthorityRecord HeldAuthority::record() const {
  location::AuthorityRecord record{.state = alike_->state,
                                   .kind = alike_->kind,
                                   .stable_type = alike_->stable_type,
                                   .object_generation = object_generation_,
                                   .owner_generation = owner_generation_,
                                   .takeover_count = takeover_count_,
                                   .owner = alike_->owner,
                                   .mesh = alike_->mesh,
                                   .reservation = reservation_,
                                   .membership = alike_->membership,
                                   .terminals = {}};
  record.terminals.reserve(terminals_.size());
  for (const Terminal& terminal : terminals_) record.terminals.push_back(unpack(terminal));
  return record;
}

}  // namespace spotmesh::objects
