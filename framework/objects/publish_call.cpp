#include <spotmesh/publish.hpp>

#include <utility>

#include <fmt/format.h>

#include <spotmesh/ids.hpp>

#include "objects/caller.hpp"
#include "objects/core.hpp"
#include "objects/envelope.hpp"
#include "objects/publications.hpp"
#include "objects/topic_key.hpp"
#include "objects/waiting.hpp"

namespace spotmesh {
namespace {

Result<std::string> mesh_of(const objects::Caller& caller,
                            const std::optional<std::string>& wanted) {
  if (!wanted.has_value() && !caller.mesh_name().empty()) return std::string(caller.mesh_name());
  auto mesh = caller.core().application.choose_mesh(wanted);
  if (!mesh) return fail(mesh.error());
  return (*mesh)->name;
}

}  // namespace

Task<Result<void>> PublishCall::submit() {
  if (auto taken = take_submission(); !taken) return objects::failed<void>(taken.error());
  for (const auto& [text, what] : {std::pair(&channel_, "channel"), std::pair(&id_, "topic")}) {
    if (auto valid = validate_id(*text, what); !valid) return objects::failed<void>(valid.error());
  }
  const std::string what = fmt::format("publication of '{}' about topic '{}' of channel '{}'",
                                       message_.packet_name(), id_, channel_);
  if (auto fits = objects::check_message(message_); !fits) {
    return objects::failed<void>(
        Error(fits.error().kind(), fmt::format("{}: {}", what, fits.error().message())));
  }
  if (auto turn = caller_->require_turn(what); !turn) return objects::failed<void>(turn.error());
  auto mesh = mesh_of(*caller_, mesh_);
  if (!mesh) return objects::failed<void>(mesh.error());
  const objects::TopicKey topic{*std::move(mesh), {std::move(channel_), std::move(id_)}};
  auto accepted = runtime::make_completion<Result<void>>();
  caller_->core().publications->publish(topic, message_, accepted);
  return objects::wait_for(std::move(accepted), objects::Waiting::KeepTurn);
}

}  // namespace spotmesh
