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
  auto& terminals = said.record.terminals;
  if (terminals.size() == 1 && is_plain(terminals.front())) {
    const location::TerminalRecord& only = terminals.front();
    terminal_ = {.operation = only.key.operation,
                 .object_generation = only.object_generation,
                 .keep_until = only.keep_until,
                 .kind = only.kind,
                 .outcome = only.outcome};
  } else if (!terminals.empty()) {
    terminals_ =
        std::make_unique<const std::vector<location::TerminalRecord>>(std::move(terminals));
  }
}

bool HeldAuthority::is_plain(const location::TerminalRecord& terminal) const {
  return terminal.key.source_rid == alike_->source_rid &&
         terminal.key.source_lifecycle == alike_->source_lifecycle && !terminal.reply.has_value() &&
         !terminal.error.has_value();
}

location::TerminalRecord HeldAuthority::unpack(const Terminal& terminal) const {
  return {.key = {.source_rid = alike_->source_rid,
                  .source_lifecycle = alike_->source_lifecycle,
                  .operation = terminal.operation},
          .kind = terminal.kind,
          .outcome = terminal.outcome,
          .object_generation = terminal.object_generation,
          .reply = {},
          .error = {},
          .keep_until = terminal.keep_until};
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
  if (terminal_.has_value()) record.terminals.push_back(unpack(*terminal_));
  if (terminals_ != nullptr) record.terminals = *terminals_;
  return record;
}

}  // namespace spotmesh::objects
