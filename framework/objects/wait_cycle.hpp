// Two objects that wait for each other, for the error that ends it.
#pragma once

#include <string>

#include "objects/object_name.hpp"

namespace spotmesh::objects {

class Core;

// Whether a request of `target`, of this node or another, stands in a mailbox that cannot go on
// while `asker`, of this node, waits: a sentence to append, or nothing. Any thread.
std::string describe_cycle(const Core& core, const ObjectName& asker, const ObjectName& target);

}  // namespace spotmesh::objects
