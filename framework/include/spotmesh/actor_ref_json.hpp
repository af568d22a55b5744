// ActorRef as JSON, for programs that hand refs on.
#pragma once

#include <string>
#include <string_view>

#include <spotmesh/error.hpp>
#include <spotmesh/ids.hpp>

namespace spotmesh {

// {"actorId":"…","objectGeneration":"…","meshName":"…","nodeRid":"…"}; the generation is a decimal
// string.
std::string to_json(const ActorRef& ref);

// Exactly those four properties, all strings. ProtocolError names the property that is missing,
// unknown, there twice, no string or malformed: a generation that is a number, empty, has a sign,
// blank, non-digit or leading zero, or lies outside "1".."9223372036854775807".
Result<ActorRef> actor_ref_from_json(std::string_view json);

}  // namespace spotmesh
