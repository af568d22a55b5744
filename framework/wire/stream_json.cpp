#include "wire/stream_json.hpp"

#include <algorithm>
#include <initializer_list>
#include <limits>
#include <utility>

#include "wire/text.hpp"

namespace spotmesh::wire {
namespace {

using nlohmann::json;

std::unexpected<Error> refuse(std::string message) {
  return fail(Error::protocol_error(std::move(message)));
}

Result<json> parse_object(std::string_view text, const JsonLimits& limits) {
  auto value = parse_json(text, limits);
  if (!value || value->is_object()) return value;
  return refuse("a message must be a JSON object, not " + std::string(value->type_name()));
}

Result<void> check_fields(const json& object, std::initializer_list<std::string_view> known,
                          std::string_view where) {
  for (const auto& [name, value] : object.items()) {
    bool is_known = false;
    for (const std::string_view field : known) is_known = is_known || field == name;
    if (is_known) continue;
    std::string message =
        "unknown field " + in_quotes(name) + " in " + std::string(where) + "; known:";
    for (const std::string_view field : known) message += " " + std::string(field);
    return refuse(std::move(message));
  }
  return {};
}

// Of an identifier in a schema.
bool is_of_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.';
}

Result<std::string> take_packet_name(json& message) {
  const auto found = message.find("packet");
  if (found == message.end()) return refuse("field 'packet' is missing");
  if (!found->is_string()) return refuse("field 'packet' must be a string");
  auto& name = found->get_ref<std::string&>();
  if (name.empty() || name.size() > max_packet_name_bytes) {
    return refuse("field 'packet' must have 1 to " + std::to_string(max_packet_name_bytes) +
                  " bytes, it has " + std::to_string(name.size()));
  }
  if (!std::ranges::all_of(name, is_of_name)) {
    return refuse("field 'packet' must be a name of letters, digits, '_' and '.'");
  }
  return std::move(name);
}

Result<json> take_payload(json& message) {
  const auto found = message.find("payload");
  if (found == message.end()) return json::object();
  if (!found->is_object()) return refuse("field 'payload' must be an object");
  return std::move(*found);
}

Result<RequestSeq> read_seq(const json& value, std::string_view field) {
  constexpr std::uint64_t highest = std::numeric_limits<std::uint32_t>::max();
  const std::uint64_t number = value.is_number_unsigned() ? value.get<std::uint64_t>() : 0;
  if (number >= 1 && number <= highest) return RequestSeq{static_cast<std::uint32_t>(number)};
  return refuse("field '" + std::string(field) + "' must be a whole number from 1 to 4294967295");
}

Result<Error> read_error(const json& value) {
  if (!value.is_object()) return refuse("field 'error' must be an object");
  if (auto known = check_fields(value, {"kind", "code", "message"}, "error"); !known) {
    return fail(known.error());
  }
  const auto kind = value.find("kind");
  const auto code = value.find("code");
  const auto message = value.find("message");
  if (kind == value.end() || code == value.end() || message == value.end()) {
    return refuse("field 'error' must have kind, code and message");
  }
  if (!kind->is_string() || !code->is_number_unsigned() || !message->is_string()) {
    return refuse("in field 'error', kind and message must be strings and code a number");
  }
  const auto number = code->get<std::uint64_t>();
  if (number >= error_kind_count ||
      kind->get_ref<const std::string&>() != to_string(static_cast<ErrorKind>(number))) {
    return refuse("error kind " + in_quotes(kind->get_ref<const std::string&>()) +
                  " does not go with code " + std::to_string(number));
  }
  return Error(static_cast<ErrorKind>(number), message->get<std::string>());
}

Result<ServerMessage> read_error_reply(RequestSeq reply_to, const json& message) {
  if (message.contains("packet") || message.contains("payload")) {
    return refuse("a reply has either field 'error' or field 'packet'");
  }
  auto error = read_error(message.at("error"));
  if (!error) return fail(error.error());
  return ServerErrorReply{reply_to, std::move(*error)};
}

void append_packet(std::string& out, std::string_view packet, std::string_view payload) {
  out += "\"packet\":";
  append_json_string(out, packet);
  out += ",\"payload\":";
  out += payload;
  out += '}';
}

std::string begin_with(std::string_view field, RequestSeq seq) {
  return "{\"" + std::string(field) + "\":" + std::to_string(seq.value) + ",";
}

}  // namespace

Result<ClientPacket> parse_client_message(std::string_view text, const JsonLimits& limits) {
  auto message = parse_object(text, limits);
  if (!message) return fail(message.error());
  if (auto known = check_fields(*message, {"packet", "seq", "payload"}, "a message"); !known) {
    return fail(known.error());
  }
  RequestSeq seq;
  if (const auto found = message->find("seq"); found != message->end()) {
    auto read = read_seq(*found, "seq");
    if (!read) return fail(read.error());
    seq = *read;
  }
  auto packet = take_packet_name(*message);
  if (!packet) return fail(packet.error());
  auto payload = take_payload(*message);
  if (!payload) return fail(payload.error());
  return ClientPacket{std::move(*packet), seq, std::move(*payload)};
}

Result<ServerMessage> parse_server_message(std::string_view text, const JsonLimits& limits) {
  auto message = parse_object(text, limits);
  if (!message) return fail(message.error());
  if (auto known =
          check_fields(*message, {"packet", "payload", "reply_to", "error"}, "a server's message");
      !known) {
    return fail(known.error());
  }
  RequestSeq reply_to;
  if (const auto found = message->find("reply_to"); found != message->end()) {
    auto read = read_seq(*found, "reply_to");
    if (!read) return fail(read.error());
    reply_to = *read;
  }
  if (message->contains("error")) {
    if (reply_to.is_one_way()) return refuse("field 'error' without field 'reply_to'");
    return read_error_reply(reply_to, *message);
  }
  auto packet = take_packet_name(*message);
  if (!packet) return fail(packet.error());
  auto payload = take_payload(*message);
  if (!payload) return fail(payload.error());
  if (reply_to.is_one_way()) return ServerPush{std::move(*packet), std::move(*payload)};
  return ServerReply{reply_to, std::move(*packet), std::move(*payload)};
}

std::string write_packet(std::string_view packet, std::string_view payload) {
  std::string out = "{";
  append_packet(out, packet, payload);
  return out;
}

std::string write_request(RequestSeq seq, std::string_view packet, std::string_view payload) {
  std::string out = begin_with("seq", seq);
  append_packet(out, packet, payload);
  return out;
}

std::string write_reply(RequestSeq reply_to, std::string_view packet, std::string_view payload) {
  std::string out = begin_with("reply_to", reply_to);
  append_packet(out, packet, payload);
  return out;
}

std::string write_error_reply(RequestSeq reply_to, const Error& error) {
  std::string out = begin_with("reply_to", reply_to);
  out += "\"error\":{\"kind\":";
  append_json_string(out, to_string(error.kind()));
  out += ",\"code\":" + std::to_string(static_cast<unsigned>(error.kind())) + ",\"message\":";
  append_json_string(out, cut_at_character(error.message(), max_error_message_bytes));
  out += "}}";
  return out;
}

}  // namespace spotmesh::wire
