// The envelope of the STREAM subprotocol: what is read can be written and is read the same again.
#include <string>
#include <variant>

#include "base/utf8.hpp"
#include "fuzz/fuzz.hpp"
#include "wire/stream_json.hpp"

namespace spotmesh::fuzz {
namespace {

template <typename Message>
bool is_refused(const Result<Message>& message) {
  if (message) return false;
  require(message.error().kind() == ErrorKind::ProtocolError, "a refusal is a ProtocolError");
  require(is_valid_utf8(message.error().message()), "a refusal can be the reason of a close");
  return true;
}

void check_client(std::string_view text) {
  const auto message = wire::parse_client_message(text);
  if (is_refused(message)) return;
  const auto payload = message->payload.dump();
  const auto written = message->seq.is_one_way()
                           ? wire::write_packet(message->packet, payload)
                           : wire::write_request(message->seq, message->packet, payload);
  const auto again = wire::parse_client_message(written);
  require(again.has_value(), "a client's message can be written");
  require(again->packet == message->packet && again->seq == message->seq &&
              again->payload == message->payload,
          "a client's message survives being written");
}

struct Writer {
  std::string operator()(const wire::ServerPush& push) const {
    return wire::write_packet(push.packet, push.payload.dump());
  }
  std::string operator()(const wire::ServerReply& reply) const {
    return wire::write_reply(reply.reply_to, reply.packet, reply.payload.dump());
  }
  std::string operator()(const wire::ServerErrorReply& reply) const {
    return wire::write_error_reply(reply.reply_to, reply.error);
  }
};

void check_server(std::string_view text) {
  const auto message = wire::parse_server_message(text);
  if (is_refused(message)) return;
  const auto written = std::visit(Writer(), *message);
  const auto again = wire::parse_server_message(written);
  require(again.has_value() && again->index() == message->index(),
          "a server's message can be written");
  require(std::visit(Writer(), *again) == written, "a server's message survives being written");
}

}  // namespace

void run(ByteView input) {
  check_client(as_text(input));
  check_server(as_text(input));
}

}  // namespace spotmesh::fuzz
