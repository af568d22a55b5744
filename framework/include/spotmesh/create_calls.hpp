// Creations as calls.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include <spotmesh/calls.hpp>
#include <spotmesh/error.hpp>
#include <spotmesh/message.hpp>
#include <spotmesh/packet.hpp>
#include <spotmesh/results.hpp>
#include <spotmesh/task.hpp>
#include <spotmesh/time.hpp>

namespace spotmesh {

// create and get_or_create of an Actor.
class [[nodiscard]] ActorCreateCall : private CallState {
 public:
  ActorCreateCall(objects::Caller& caller, std::string id, std::string type, bool accepts_existing)
      : CallState(caller, std::move(id)),
        type_(std::move(type)),
        accepts_existing_(accepts_existing) {}

  // The mesh to create on. Omitted: the only mesh with an object role. Unknown: NotFound; none
  // configured: NotConfigured; several and none named: InvalidOperation.
  ActorCreateCall& in_mesh(std::string name) &;
  ActorCreateCall&& in_mesh(std::string name) &&;
  // What on_create_actor gets to see; at most 1 MiB encoded.
  ActorCreateCall& request(Message request) &;
  ActorCreateCall&& request(Message request) &&;
  template <Packet P>
  ActorCreateCall& request(const P& packet) & {
    return request(Message::of(packet));
  }
  template <Packet P>
  ActorCreateCall&& request(const P& packet) && {
    return std::move(*this).request(Message::of(packet));
  }
  ActorCreateCall& timeout(Duration timeout) &;
  ActorCreateCall&& timeout(Duration timeout) &&;

  // AlreadyExists (create only), TypeMismatch, CapacityExceeded, Unavailable, DeadlineExceeded,
  // InternalFailure (factory or callback threw), ShuttingDown.
  Task<Result<CreateResult>> submit();
  // As submit(), giving the gate back; see RequestCall::yield.
  Task<Result<CreateResult>> yield();

 private:
  Task<Result<CreateResult>> start(objects::Waiting waiting);

  std::string type_;
  bool accepts_existing_;
  std::optional<std::string> mesh_;
  std::optional<Message> request_;
};

// create and get_or_create of a User Spot.
class [[nodiscard]] SpotCreateCall : private CallState {
 public:
  // An empty id asks the runtime to issue one.
  SpotCreateCall(objects::Caller& caller, std::string id, std::string type, bool issues_id)
      : CallState(caller, std::move(id)), type_(std::move(type)), issues_id_(issues_id) {}

  // As for Actors; the request goes to on_create.
  SpotCreateCall& in_mesh(std::string name) &;
  SpotCreateCall&& in_mesh(std::string name) &&;
  SpotCreateCall& request(Message request) &;
  SpotCreateCall&& request(Message request) &&;
  template <Packet P>
  SpotCreateCall& request(const P& packet) & {
    return request(Message::of(packet));
  }
  template <Packet P>
  SpotCreateCall&& request(const P& packet) && {
    return std::move(*this).request(Message::of(packet));
  }
  SpotCreateCall& timeout(Duration timeout) &;
  SpotCreateCall&& timeout(Duration timeout) &&;

  Task<Result<SpotCreateResult>> submit();
  Task<Result<SpotCreateResult>> yield();

 private:
  Task<Result<SpotCreateResult>> start(objects::Waiting waiting);

  std::string type_;
  bool issues_id_;
  std::optional<std::string> mesh_;
  std::optional<Message> request_;
};

}  // namespace spotmesh
