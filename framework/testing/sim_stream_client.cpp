#include <spotmesh/testing/sim_stream_client.hpp>

#include "testing/stream_client_end.hpp"

namespace spotmesh::testing {

using wire::WebSocketOpcode;

SimStreamClient::SimStreamClient(std::unique_ptr<StreamClientEnd> end) : end_(std::move(end)) {}
SimStreamClient::SimStreamClient(SimStreamClient&&) noexcept = default;
SimStreamClient& SimStreamClient::operator=(SimStreamClient&&) noexcept = default;
SimStreamClient::~SimStreamClient() = default;

void SimStreamClient::request(const Message& message, std::function<void(Result<Message>)> done) {
  end_->request(message, std::move(done));
}
void SimStreamClient::send(const Message& message) { end_->send(message); }

void SimStreamClient::on_push(const PacketDescriptor& packet,
                              std::function<void(const Message&)> handler) {
  know(packet);
  end_->push_handlers.insert_or_assign(std::string(packet.name), std::move(handler));
}
void SimStreamClient::on_other_push(std::function<void(const Message&)> handler) {
  end_->on_other_push = std::move(handler);
}
void SimStreamClient::on_text(std::function<void(std::string_view)> handler) {
  end_->on_text = std::move(handler);
}
void SimStreamClient::on_close(std::function<void(const ClientClose&)> handler) {
  end_->on_close = std::move(handler);
}

bool SimStreamClient::is_open() const { return end_->is_open(); }
const std::optional<ClientClose>& SimStreamClient::close_seen() const { return end_->close_seen; }
std::size_t SimStreamClient::unanswered_requests() const { return end_->unanswered_requests(); }
std::uint64_t SimStreamClient::pushes_received() const { return end_->pushes_received; }
std::uint64_t SimStreamClient::pings_received() const { return end_->pings_received; }
std::uint64_t SimStreamClient::pongs_received() const { return end_->pongs_received; }
std::size_t SimStreamClient::unread_bytes() const { return end_->connection().unread_bytes(); }

void SimStreamClient::close(std::uint16_t code, std::string_view reason) {
  end_->close(code, reason);
}
void SimStreamClient::stop_reading() { end_->connection().stop_reading(); }
void SimStreamClient::start_reading() { end_->connection().start_reading(); }
void SimStreamClient::stop_answering() { end_->answers_pings = false; }
void SimStreamClient::vanish() { end_->connection().vanish(); }
void SimStreamClient::reset() { end_->connection().reset(); }
void SimStreamClient::hang_up() { end_->connection().close(); }

void SimStreamClient::send_text(std::string_view text) {
  end_->has_sent_raw = true;
  end_->send_frame(WebSocketOpcode::Text, as_bytes(text));
}
void SimStreamClient::send_binary(ByteView payload) {
  end_->send_frame(WebSocketOpcode::Binary, payload);
}
void SimStreamClient::send_ping(std::string_view payload) {
  end_->send_frame(WebSocketOpcode::Ping, as_bytes(payload));
}
void SimStreamClient::send_bytes(Bytes bytes) {
  end_->has_sent_raw = true;
  end_->send_bytes(std::move(bytes));
}

void SimStreamClient::know(const PacketDescriptor& packet) { end_->know(packet); }

}  // namespace spotmesh::testing
