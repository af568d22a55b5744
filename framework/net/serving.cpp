#include "net/serving.hpp"

namespace spotmesh::net {

Result<std::shared_ptr<stream::ClientLinkHandler>> AcceptorGate::admit(
    stream::ClientLink& link, const stream::LinkInfo& info) {
  if (!gate_.enter()) return fail(Error::shutting_down("this node accepts no more clients"));
  auto handler = acceptor_.on_link(link, info);
  gate_.leave();
  return handler;
}

}  // namespace spotmesh::net
