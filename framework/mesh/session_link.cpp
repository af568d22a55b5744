// SessionMachine: what passes on its connection.
#include <algorithm>

#include <fmt/format.h>

#include "mesh/session_machine.hpp"

namespace spotmesh::mesh {
namespace {

// Acknowledged at once; what is less waits for something to travel with, or for
// MeshOptions::acknowledgement_delay. Far below a window, which would else run dry.
constexpr std::size_t most_owed_frames = 64;
constexpr std::size_t most_owed_bytes = 128 * 1024;

constexpr auto control = static_cast<std::size_t>(Lane::Control);

}  // namespace

void SessionMachine::on(session::Frames& event, Instant now) {
  for (const SharedBytes& frame : event.frames) {
    // A frame before may have ended the link or the session.
    if (event.connection != connection_) return;
    if (state_ == State::Greeting) {
      greet(frame.view(), now);
    } else if (state_ == State::Linked) {
      take(frame.view(), now);
    }
  }
  if (event.connection == connection_ && state_ == State::Linked) pump(now);
}

void SessionMachine::greet(ByteView bytes, Instant now) {
  for (auto& action : handshake_->on_frame(bytes)) {
    if (auto* say = std::get_if<handshake::Say>(&action)) {
      // Much may follow the Welcome at once, before this side has seen it.
      const bool is_response = handshake_->state() == DialHandshake::State::AwaitsWelcome;
      if (is_response) actions_.push_back(session::Trust{connection_});
      write({std::move(say->frame)}, now);
    } else if (auto* refused = std::get_if<handshake::Refused>(&action)) {
      return act(*refused, now);
    } else if (auto* other = std::get_if<handshake::OtherRun>(&action)) {
      return act(*other, now);
    } else if (auto* welcomed = std::get_if<handshake::Welcomed>(&action)) {
      return act(*welcomed, now);
    }
  }
}

void SessionMachine::act(handshake::Refused& refused, Instant now) {
  actions_.push_back(session::Close{connection_, refused.text});
  const bool is_final = refused.is_by_peer && handshake_->is_listener_proven() &&
                        refused.reason == wire::MeshRefusalReason::RunOver;
  const Error reason = Error::unavailable(
      fmt::format("'{}' has ended its session with this node: {}", peer_.node.text, refused.text));
  actions_.push_back(session::DialRefused{std::move(refused)});
  is_final ? end(reason) : wait(now);
}

void SessionMachine::act(handshake::OtherRun& other, Instant now) {
  const std::string found = fmt::format(
      "where '{}' (lifecycle {}) listened, '{}' (lifecycle {}) does", peer_.node.text,
      to_string(peer_.lifecycle), other.found.node.text, to_string(other.found.lifecycle));
  actions_.push_back(session::Close{connection_, found});
  actions_.push_back(session::DialRefused{
      {.is_by_peer = false, .reason = wire::MeshRefusalReason::OtherRun, .text = found}});
  // A node that reaches itself has been told a wrong address, which says nothing about the peer.
  if (other.found == context_->credentials.self) return wait(now);
  end(Error::unavailable(found + ": the run that was wanted is over"));
}

void SessionMachine::act(handshake::Welcomed& welcomed, Instant now) {
  handshake_.reset();
  if (can_resume_after(welcomed.received)) return take_up(welcomed.received, now);
  const std::string text =
      fmt::format("'{}' says it has taken other frames than were sent", peer_.node.text);
  actions_.push_back(session::Close{connection_, text});
  actions_.push_back(session::DialRefused{
      {.is_by_peer = false, .reason = wire::MeshRefusalReason::Positions, .text = text}});
  wait(now);
}

void SessionMachine::take(ByteView bytes, Instant now) {
  heard_at_ = now;
  const auto frame = wire::decode_mesh_frame(bytes);
  if (!frame) return break_link(frame.error().message(), now);
  if (const auto* data = std::get_if<wire::MeshData>(&*frame)) return take(*data, now);
  if (const auto* known = std::get_if<wire::MeshAcknowledgement>(&*frame)) return take(*known, now);
  if (const auto* farewell = std::get_if<wire::MeshFarewell>(&*frame)) {
    const std::string text =
        fmt::format("'{}' has ended the session: {}", peer_.node.text, farewell->text);
    actions_.push_back(session::Close{connection_, text});
    return end(Error::unavailable(text));
  }
  break_link("a frame of the handshake came after it", now);
}

void SessionMachine::take(const wire::MeshData& data, Instant now) {
  auto taken = receiving_[data.lane].take(data, context_->faults);
  if (!taken) return break_link(taken.error().message(), now);
  if (owed_frames_ == 0) owed_since_ = now;
  ++owed_frames_;
  owed_bytes_ += data.bytes.size();
  ++(taken->is_duplicate ? tally_.duplicates_dropped : tally_.frames_taken);
  if (taken->message.has_value()) {
    actions_.push_back(session::Deliver{Lane(data.lane), *std::move(taken->message)});
  }
}

void SessionMachine::take(const wire::MeshAcknowledgement& acknowledgement, Instant now) {
  for (std::size_t lane = 0; lane < lane_count; ++lane) {
    const auto credit = sending_[lane].acknowledge(acknowledgement.received[lane]);
    if (!credit) return break_link(credit.error().message(), now);
    if (credit->messages > 0) actions_.push_back(session::Credit{Lane(lane), *credit});
  }
}

wire::MeshPositions SessionMachine::positions() const {
  wire::MeshPositions positions{};
  for (std::size_t lane = 0; lane < lane_count; ++lane) {
    positions[lane] = receiving_[lane].received();
  }
  return positions;
}

SharedBytes SessionMachine::acknowledgement() {
  owed_frames_ = owed_bytes_ = 0;
  return SharedBytes(wire::encode(wire::MeshAcknowledgement{positions()}));
}

void SessionMachine::pump(Instant now) {
  std::vector<SharedBytes> frames;
  const bool is_much_owed = owed_frames_ >= most_owed_frames || owed_bytes_ >= most_owed_bytes;
  for (SendLane& lane : sending_) {
    const bool is_control = &lane == &sending_[control];
    fill(lane, is_control ? SIZE_MAX : context_->options.window_bytes, frames);
  }
  if (frames.empty() && !is_much_owed) return;
  if (owed_frames_ > 0) frames.insert(frames.begin(), acknowledgement());
  write(std::move(frames), now);
}

void SessionMachine::fill(SendLane& lane, std::size_t window, std::vector<SharedBytes>& frames) {
  while (lane.has_unwritten() && lane.bytes_on_the_way() < window) {
    const wire::MeshData piece = lane.next();
    ++(lane.is_resent(piece) ? tally_.frames_resent : tally_.frames_sent);
    frames.push_back(SharedBytes(wire::encode(piece)));
  }
}

void SessionMachine::write(std::vector<SharedBytes> frames, Instant now) {
  written_at_ = now;
  actions_.push_back(session::Write{connection_, std::move(frames)});
}

void SessionMachine::append_state(std::string& out) const {
  fmt::format_to(std::back_inserter(out), "{}/{}/{}/{}/{}/{}", static_cast<int>(state_),
                 connection_, is_own_dial_, dials_, adopted_, owed_frames_);
  if (handshake_) {
    fmt::format_to(std::back_inserter(out), "/h{}", static_cast<int>(handshake_->state()));
  }
  for (std::size_t lane = 0; lane < lane_count; ++lane) {
    fmt::format_to(std::back_inserter(out), "/{}:{}:{}:{}:{}", sending_[lane].acknowledged(),
                   sending_[lane].written(), sending_[lane].furthest(), sending_[lane].last(),
                   receiving_[lane].received());
  }
}

}  // namespace spotmesh::mesh
