#include "net/serving.hpp"

namespace spotmesh::net {

Result<std::shared_ptr<stream::ClientLinkHandler>> AcceptorGate::admit(
    stream::ClientLink& link, const stream::LinkInfo& info) {
  stream::LinkAcceptor* acceptor = nullptr;
  {
    std::lock_guard lock(mutex_);
    if (acceptor_ == nullptr) {
      return fail(Error::shutting_down("this node accepts no more clients"));
    }
    acceptor = acceptor_;
    ++calls_;
  }
  auto handler = acceptor->on_link(link, info);
  std::lock_guard lock(mutex_);
  if (--calls_ == 0) call_ended_.notify_all();
  return handler;
}

void AcceptorGate::close() {
  std::unique_lock lock(mutex_);
  acceptor_ = nullptr;
  call_ended_.wait(lock, [this] { return calls_ == 0; });
}

}  // namespace spotmesh::net
