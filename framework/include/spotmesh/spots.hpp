// Spots: create, find, close and talk to Spots by id, wherever they live.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <spotmesh/calls.hpp>
#include <spotmesh/create_calls.hpp>
#include <spotmesh/ids.hpp>
#include <spotmesh/message.hpp>
#include <spotmesh/packet.hpp>
#include <spotmesh/task.hpp>

namespace spotmesh {

// Offered by every context; as Actors, for Spots.
class Spots {
 public:
  explicit Spots(objects::Caller& caller) : caller_(&caller) {}

  // A new User Spot of a stable type, under a UUID that the runtime issues.
  SpotCreateCall create(std::string_view type) { return {*caller_, {}, std::string(type), true}; }
  // The User Spot under that id, made if there is none.
  SpotCreateCall get_or_create(std::string_view id, std::string_view type) {
    return {*caller_, std::string(id), std::string(type), false};
  }

  // Where the Spot is now, or nothing when none is Ready.
  Task<Result<std::optional<SpotRef>>> find(std::string_view id);
  // Ends exactly that incarnation of a User Spot: true when this call closed it, false while
  // members remain or when it was gone already. InvalidOperation: another incarnation lives under
  // the id, it is an Entry Spot, or the caller runs on that Spot's gate (use close_when_empty
  // there). ShuttingDown, or Unavailable from another node: its node stops and ends it.
  Task<Result<bool>> close(const SpotRef& spot);

  template <Packet P>
  SendCall send(std::string_view id, const P& packet) {
    return send(id, Message::of(packet));
  }
  SendCall send(std::string_view id, Message message) {
    return {*caller_, objects::TargetKind::Spot, std::string(id), std::move(message)};
  }
  template <Packet Reply, Packet P>
  RequestCall<Reply> request(std::string_view id, const P& packet) {
    return request<Reply>(id, Message::of(packet));
  }
  template <Packet Reply>
  RequestCall<Reply> request(std::string_view id, Message message) {
    return RequestCall<Reply>(
        RawRequestCall(*caller_, objects::TargetKind::Spot, std::string(id), std::move(message)));
  }

 private:
  objects::Caller* caller_;
};

}  // namespace spotmesh
