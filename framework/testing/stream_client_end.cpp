#include "testing/stream_client_end.hpp"

#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include <spotmesh/limits.hpp>

#include "wire/websocket.hpp"

namespace spotmesh::testing {
namespace {

// JSON is longer than the packets it stands for.
constexpr std::size_t longest_message_bytes = 8 * limits::message_bytes;
constexpr std::uint16_t no_close_frame = 1006;
constexpr std::uint16_t broken_protocol = 1002;

wire::StreamForm stream_form(ClientForm form) {
  return form == ClientForm::Json ? wire::StreamForm::Json : wire::StreamForm::Binary;
}

}  // namespace

StreamClientEnd::StreamClientEnd(Random& random, std::shared_ptr<wire::PacketCatalog> packets,
                                 ClientForm form)
    : form_(form),
      packets_(std::move(packets)),
      codec_(stream_form(form), *packets_, random, longest_message_bytes) {}

StreamClientEnd::~StreamClientEnd() {
  if (connection_ == nullptr) return;
  connection_->forget_peer();
  connection_->reset();
}

Result<void> StreamClientEnd::connect(SimClientLinks& links, std::string_view remote_address) {
  auto connection = links.connect(*this, wire::subprotocol_of(stream_form(form_)), remote_address);
  if (!connection) return fail(connection.error());
  connection_ = *std::move(connection);
  if (codec_.begins_with_hello()) {
    Bytes hello;
    codec_.append_hello(hello, {.types = packets_->prints().prints(), .resume = {}});
    send_bytes(std::move(hello));
  }
  return {};
}

void StreamClientEnd::on_bytes(ByteView bytes) {
  while (is_open() && take(codec_.next(bytes))) {
  }
}

bool StreamClientEnd::take(wire::ClientEvent event) {
  using Kind = wire::ClientEvent::Kind;
  const bool is_message = event.kind == Kind::Push || event.kind == Kind::Reply;
  if (is_message && form_ == ClientForm::Json && on_text) on_text(as_text(event.bytes));
  switch (event.kind) {
    case Kind::NeedMoreBytes:
      return false;
    case Kind::Welcome:
      return true;
    case Kind::Push:
      take_push(event.message);
      return true;
    case Kind::Reply:
      take_reply(event.seq, std::move(event.message));
      return true;
    case Kind::Ping:
      ++pings_received;
      if (answers_pings) {
        Bytes pong;
        codec_.append_pong(pong, event.bytes);
        send_bytes(std::move(pong));
      }
      return true;
    case Kind::Pong:
      ++pongs_received;
      return true;
    case Kind::Close:
      said_ = {static_cast<std::uint16_t>(event.close.code), event.close.reason};
      return false;
    case Kind::Failed:
      give_up(event.close.reason);
      return false;
  }
  return false;
}

void StreamClientEnd::on_closed(std::string_view reason) {
  end(said_.value_or(ClientClose{no_close_frame, std::string(reason)}));
}

void StreamClientEnd::take_push(const Result<Message>& push) {
  ++pushes_received;
  // What nobody asked for need not be known either.
  if (!push) {
    if (on_other_push || push.error().kind() != ErrorKind::NotFound) {
      give_up(push.error().message());
    }
    return;
  }
  const auto handler = push_handlers.find(push->packet_name());
  if (handler != push_handlers.end()) return handler->second(*push);
  if (on_other_push) on_other_push(*push);
}

void StreamClientEnd::take_reply(wire::RequestSeq seq, Result<Message> reply) {
  auto request = requests_.extract(seq.value);
  if (!request.empty()) return request.mapped()(std::move(reply));
  if (!has_sent_raw) give_up(fmt::format("a reply to request {}, which has none due", seq.value));
}

void StreamClientEnd::know(const PacketDescriptor& packet) {
  const PacketDescriptor* added[] = {&packet};
  packets_->add(added);
}

void StreamClientEnd::request(const Message& message, std::function<void(Result<Message>)> done) {
  if (!is_open()) return done(fail(Error::unavailable("the connection has ended before")));
  const std::uint32_t seq = ++last_seq_;
  requests_.emplace(seq, std::move(done));
  send_packet({seq}, message);
}

void StreamClientEnd::send(const Message& message) { send_packet({}, message); }

void StreamClientEnd::send_packet(wire::RequestSeq seq, const Message& message) {
  if (message.is_empty()) throw std::logic_error("a client cannot send an empty message");
  know(*message.descriptor());
  Bytes frame;
  if (auto said = codec_.append_packet(frame, seq, message); !said) {
    throw std::logic_error(said.error().message());
  }
  send_bytes(std::move(frame));
}

void StreamClientEnd::send_frame(wire::WebSocketOpcode opcode, ByteView payload) {
  Bytes frame;
  codec_.append_message(frame, opcode, payload);
  send_bytes(std::move(frame));
}

void StreamClientEnd::send_bytes(Bytes bytes) {
  if (is_open()) connection_->send(std::move(bytes));
}

void StreamClientEnd::close(std::uint16_t code, std::string_view reason) {
  Bytes frame;
  codec_.append_close(frame, {wire::CloseCode{code}, std::string(reason)});
  send_bytes(std::move(frame));
}

void StreamClientEnd::give_up(const std::string& fault) {
  connection_->forget_peer();
  connection_->reset();
  end({broken_protocol, "the server broke the protocol: " + fault});
}

void StreamClientEnd::end(ClientClose how) {
  if (!is_open()) return;
  close_seen = std::move(how);
  const Error error = Error::unavailable(fmt::format(
      "the connection ended with {} ({}); whether the request was carried out is unknown",
      close_seen->code, close_seen->reason));
  for (auto& [seq, done] : std::exchange(requests_, {})) done(fail(error));
  if (on_close) on_close(*close_seen);
}

Result<SimStreamClient> connect_stream_client(SimClientLinks& links, Random& random,
                                              std::shared_ptr<wire::PacketCatalog> packets,
                                              std::string_view remote_address, ClientForm form) {
  auto end = std::make_unique<StreamClientEnd>(random, std::move(packets), form);
  if (auto connected = end->connect(links, remote_address); !connected) {
    return fail(connected.error());
  }
  return SimStreamClient(std::move(end));
}

}  // namespace spotmesh::testing
