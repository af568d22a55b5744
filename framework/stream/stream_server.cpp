#include "stream/stream_server.hpp"

#include <string>
#include <utility>

#include "stream/client_session.hpp"
#include "stream/handshake.hpp"

namespace spotmesh::stream {
namespace {

// Links that may be on their way out at one time because the gateway is full.
constexpr std::size_t most_refused_links = 256;

}  // namespace

class StreamServer::SessionLink final : public ClientLinkHandler {
 public:
  SessionLink(SessionDirectory::SessionRef session, AddressCounts::Place place)
      : session_(std::move(session)), place_(std::move(place)) {}
  void on_bytes(ByteView bytes) override { session_->on_bytes(bytes); }
  void on_drained() override { session_->on_drained(); }
  void on_closed(std::string_view reason) override { session_->on_link_closed(reason); }

 private:
  SessionDirectory::SessionRef session_;
  AddressCounts::Place place_;
};

class StreamServer::HandshakeLink final : public ClientLinkHandler {
 public:
  HandshakeLink(runtime::Ref<Handshake> handshake, AddressCounts::Place place)
      : handshake_(std::move(handshake)), place_(std::move(place)) {}
  void on_bytes(ByteView bytes) override {
    if (session_) return session_->on_bytes(bytes);
    session_ = handshake_->on_bytes(bytes);
    if (session_) handshake_ = {};
  }
  void on_drained() override {
    if (session_) session_->on_drained();
  }
  void on_closed(std::string_view reason) override {
    if (session_) return session_->on_link_closed(reason);
    handshake_->on_closed();
  }

 private:
  runtime::Ref<Handshake> handshake_;  // until there is a session
  SessionDirectory::SessionRef session_;
  AddressCounts::Place place_;
};

class StreamServer::RefusedLink final : public ClientLinkHandler {
 public:
  explicit RefusedLink(std::shared_ptr<std::atomic<std::size_t>> count)
      : count_(std::move(count)) {}
  ~RefusedLink() override { count_->fetch_sub(1); }
  void on_bytes(ByteView) override {}
  void on_drained() override {}
  void on_closed(std::string_view) override {}

 private:
  std::shared_ptr<std::atomic<std::size_t>> count_;
};

StreamServer::StreamServer(const objects::FrozenApplication& application,
                           const objects::StreamType& type, objects::NodeIdentity identity,
                           const StreamSeams& seams, MakeCaller make_caller,
                           const StreamOptions& options)
    : gateway_(std::make_shared<Gateway>(application, type, std::move(identity), seams,
                                         std::move(make_caller), options)),
      refused_links_(std::make_shared<std::atomic<std::size_t>>(0)) {}

StreamServer::~StreamServer() { abandon(); }

Result<std::shared_ptr<ClientLinkHandler>> StreamServer::on_link(ClientLink& link,
                                                                 const LinkInfo& info) {
  if (gateway_->is_stopping.load()) return fail(Error::shutting_down(stopping_reason));
  auto protocol = make_protocol(info, gateway_->catalog, gateway_->options);
  if (!protocol) return fail(protocol.error());
  if (!gateway_->has_room()) return turn_away(link, **protocol, gateway_->no_room());
  auto place = gateway_->place_for(info.remote_host);
  if (!place.has_value()) return turn_away(link, **protocol, gateway_->too_many_of_address());
  if ((*protocol)->begins_with_hello()) {
    const auto handshake =
        runtime::make_ref<Handshake>(gateway_, link, info.remote_address, *std::move(protocol));
    handshake->start();
    if (gateway_->is_stopping.load()) handshake->shut_down(stopping_reason);
    return std::make_shared<HandshakeLink>(handshake, *std::move(place));
  }
  const auto session =
      runtime::make_ref<ClientSession>(gateway_, link, info.remote_address, *std::move(protocol));
  session->start();
  // stop() may have looked at the sessions just before this one was among them.
  if (gateway_->is_stopping.load()) session->close(SessionEnding::shutdown(stopping_reason));
  return std::make_shared<SessionLink>(session, *std::move(place));
}

Result<std::shared_ptr<ClientLinkHandler>> StreamServer::turn_away(
    ClientLink& link, const SessionProtocol& protocol, const wire::WebSocketClose& close) {
  if (refused_links_->fetch_add(1) >= most_refused_links) {
    refused_links_->fetch_sub(1);
    return fail(Error::capacity_exceeded(close.reason));
  }
  link.send({protocol.encode_close(close)});
  link.close_after_flush();
  return std::make_shared<RefusedLink>(refused_links_);
}

SessionDirectory::SessionRef StreamServer::session_of(
    const objects::BindingIdentity& binding) const {
  if (!gateway_->owns(binding)) return {};
  return gateway_->sessions.find(binding.session);
}

Result<void> StreamServer::push(const objects::BindingIdentity& binding, const Message& message) {
  if (const auto session = session_of(binding)) return session->push(binding, message);
  gateway_->metrics.stale_bindings.add();
  return fail(Error::unavailable("the client's session has ended"));
}

void StreamServer::disconnect(const objects::BindingIdentity& binding, std::string reason) {
  if (const auto session = session_of(binding)) {
    return session->disconnect(binding, std::move(reason));
  }
  gateway_->metrics.stale_bindings.add();
}

void StreamServer::on_replaced(const objects::BindingIdentity& old_binding, const ActorRef& actor) {
  if (const auto session = session_of(old_binding)) return session->on_replaced(old_binding, actor);
  gateway_->metrics.stale_bindings.add();
}

void StreamServer::on_actor_gone(const objects::BindingIdentity& binding, const ActorId&) {
  if (const auto session = session_of(binding)) return session->on_actor_gone(binding);
  gateway_->metrics.stale_bindings.add();
}

void StreamServer::stop(const std::string& reason, std::function<void()> stopped) {
  gateway_->is_stopping.store(true);
  for (const auto& handshake : gateway_->handshakes->all()) handshake->shut_down(reason);
  for (const auto& session : gateway_->sessions.all()) {
    session->close(SessionEnding::shutdown(reason));
  }
  gateway_->sessions.when_empty(std::move(stopped));
}

void StreamServer::abandon() {
  gateway_->is_stopping.store(true);
  for (const auto& handshake : gateway_->handshakes->all()) handshake->abandon();
  for (const auto& session : gateway_->sessions.all()) session->abandon();
}

}  // namespace spotmesh::stream
