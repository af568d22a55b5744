// Actors: create, find, end and talk to Actors by id, wherever they live.
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

// Offered by every context. Calls belong to the turn that makes them. An id that is not 1..255
// bytes of UTF-8 is InvalidOperation.
class Actors {
 public:
  explicit Actors(objects::Caller& caller) : caller_(&caller) {}

  // A new Actor of a stable type; AlreadyExists when one of that type lives under the id. It starts
  // as a member of its owner node's Entry Spot, which accepts or rejects it.
  ActorCreateCall create(std::string_view id, std::string_view type) {
    return {*caller_, std::string(id), std::string(type), false};
  }
  // As create(), but gives Existing when one of that type lives under the id.
  ActorCreateCall get_or_create(std::string_view id, std::string_view type) {
    return {*caller_, std::string(id), std::string(type), true};
  }

  // Where the Actor is now, or nothing when none is Ready. Creates and changes nothing.
  Task<Result<std::optional<ActorRef>>> find(std::string_view id);
  // The Spot that the Actor is in now, Entry or User; nothing when it is not Ready.
  Task<Result<std::optional<SpotRef>>> find_spot(std::string_view actor_id);
  // Ends exactly that incarnation, from its Entry Spot: true when this call ended it, false when it
  // was gone already. InvalidOperation: another incarnation lives under the id, the Actor is in a
  // User Spot, or the caller is that Actor's own turn. Unavailable: it is about to change its Spot.
  Task<Result<bool>> destroy(const ActorRef& actor);

  template <Packet P>
  SendCall send(std::string_view id, const P& packet) {
    return send(id, Message::of(packet));
  }
  SendCall send(std::string_view id, Message message) {
    return {*caller_, objects::TargetKind::Actor, std::string(id), std::move(message)};
  }
  template <Packet Reply, Packet P>
  RequestCall<Reply> request(std::string_view id, const P& packet) {
    return request<Reply>(id, Message::of(packet));
  }
  template <Packet Reply>
  RequestCall<Reply> request(std::string_view id, Message message) {
    return RequestCall<Reply>(
        RawRequestCall(*caller_, objects::TargetKind::Actor, std::string(id), std::move(message)));
  }

 private:
  objects::Caller* caller_;
};

}  // namespace spotmesh
