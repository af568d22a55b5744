// What Actors of the checking game and others alike say, numbered, and what may come of it.
#pragma once

#include <cstdint>
#include <string>

#include <spotmesh/spotmesh.hpp>

#include "ledger.hpp"

namespace probe {

// Whether it is an error that anybody can meet whose peers and nodes come and go.
bool is_expected(const spotmesh::Error& error);

// Of a creation that nobody rejects.
const spotmesh::ActorRef& ref_of(const spotmesh::CreateResult& result);
const spotmesh::SpotRef& ref_of(const spotmesh::SpotCreateResult& result);

// Some words to an Actor. All are on their way before the first is waited for: their order must not
// depend on it. `context` is the speaker's.
spotmesh::Task<void> say_words(spotmesh::Context& context, Ledger& ledger, Life from,
                               std::string to, std::uint32_t count);
// Some bulletins about a topic, likewise.
spotmesh::Task<void> publish_bulletins(spotmesh::Context& context, Ledger& ledger, Life from,
                                       std::string topic, std::uint32_t count);

}  // namespace probe
