// What is known of one Actor or session, from whoever in the cluster knows something of it.
#pragma once

#include <functional>
#include <string>

#include <spotmesh/error.hpp>
#include <spotmesh/ids.hpp>
#include <spotmesh/time.hpp>

#include "host/cluster_view.hpp"
#include "objects/inspection.hpp"

namespace spotmesh::host {

// All of these: any thread; `done` is called once, on the strand, by about the deadline, unless
// this node ends before.

// The node on which the Actor lives. NotFound: there is no such Actor. Unavailable: it is being
// created, its owner is gone or away, or the store is; the error says which.
void find_owner(const ClusterView& cluster, const ActorId& id, Instant deadline,
                std::function<void(Result<objects::NodeRow>)> done);

// A document of JSON: what the store says, what this node thinks of the owner, what the owner says,
// and what the node of the bound session says; whatever of it cannot be had, with the reason.
void explain_actor(const ClusterView& cluster, const ActorId& id, std::string client,
                   Instant deadline, std::function<void(std::string)> done);

// … what its node says, and what the nodes of its Actors say.
void explain_session(const ClusterView& cluster, const SessionId& id, std::string client,
                     Instant deadline, std::function<void(std::string)> done);

}  // namespace spotmesh::host
