#include "sim_player.hpp"

#include <utility>

namespace tictactoe::simulation {
namespace {

using spotmesh::Error;
using spotmesh::ErrorKind;
using spotmesh::Result;

constexpr unsigned most_drops = 4;

std::vector<int> free_cells(const GameState& state) {
  std::vector<int> cells;
  for (std::size_t cell = 0; cell < state.cells.size(); ++cell) {
    if (state.cells[cell] == Mark::None) cells.push_back(static_cast<int>(cell));
  }
  return cells;
}

}  // namespace

SimPlayer::SimPlayer(spotmesh::testing::Cluster& cluster, spotmesh::Random& random,
                     std::string name, std::string room, Habits habits)
    : cluster_(cluster),
      random_(random),
      name_(std::move(name)),
      room_(std::move(room)),
      habits_(habits) {}

void SimPlayer::attend() {
  if (std::exchange(wants_connection_, false)) {
    client_.reset();
    connect();
  } else if (std::exchange(wants_retry_, false)) {
    if (client_ && client_->is_open()) log_in();
  }
}

void SimPlayer::connect() {
  auto client = cluster_.connect();
  if (!client) return complain("cannot connect: " + to_string(client.error()));
  client_.emplace(std::move(*client));
  client_->on_push<GameStateNotify>([this](const GameStateNotify& push) { see(push.state); });
  client_->on_push<EnterFailedNotify>([this](const EnterFailedNotify& push) {
    is_entering_ = false;
    // Both open the same room, and two seats are enough for two; what is passing may be tried
    // again.
    if (push.is_full) return complain("was refused a seat: " + push.message);
    wants_retry_ = true;
  });
  client_->on_close([this](const spotmesh::testing::ClientClose& close) {
    is_entering_ = false;
    wants_connection_ = true;
    if (close.code != 1006) complain("closed: " + std::to_string(close.code) + " " + close.reason);
  });
  log_in();
}

bool SimPlayer::is_passing(const Error& error) const {
  return error.kind() == ErrorKind::Unavailable || error.kind() == ErrorKind::DeadlineExceeded;
}

void SimPlayer::log_in() {
  const Login login{.name = name_, .device_token = "device-token-of-" + name_};
  client_->request<LoginResult>(login, [this](const Result<LoginResult>& reply) {
    if (reply) return synchronize();
    if (is_passing(reply.error())) {
      wants_retry_ = true;
    } else if (reply.error().kind() == ErrorKind::InvalidOperation) {
      synchronize();  // logged in already: the answer to an earlier try was lost
    } else {
      complain("cannot log in: " + to_string(reply.error()));
    }
  });
}

void SimPlayer::synchronize() {
  client_->request<SyncResult>(Sync{}, [this](const Result<SyncResult>& reply) {
    if (!reply) {
      if (!is_passing(reply.error())) complain("cannot sync: " + to_string(reply.error()));
      wants_retry_ = true;
    } else if (reply->room) {
      see(*reply->room);
    } else if (!finished_) {
      enter_room();
    }
  });
}

void SimPlayer::enter_room() {
  if (std::exchange(is_entering_, true)) return;
  client_->request<Entering>(OpenRoom{.room = room_}, [this](const Result<Entering>& reply) {
    if (reply) return;
    is_entering_ = false;
    if (!is_passing(reply.error())) complain("cannot enter: " + to_string(reply.error()));
    wants_retry_ = true;
  });
}

void SimPlayer::see(const GameState& state) {
  is_entering_ = false;
  if (state.cells.size() != 9) return complain("a board without nine cells");
  if (state.revision < revision_) return complain("a state older than the one before");
  revision_ = state.revision;
  if (state.phase == Phase::Finished && !finished_) finished_ = state;
  if (finished_) return;
  if (drops_ < most_drops && happens(habits_.drops_per_mille)) {
    ++drops_;
    return client_->reset();
  }
  answer(state);
}

void SimPlayer::answer(const GameState& state) {
  const Mark mine = state.x && state.x->name == name_   ? Mark::X
                    : state.o && state.o->name == name_ ? Mark::O
                                                        : Mark::None;
  if (state.phase != Phase::Playing || mine == Mark::None) return;
  // A taken cell stays taken, so this is forbidden whoever's turn it is when it arrives.
  if (state.last_cell >= 0 && happens(habits_.probes_per_mille)) place(state.last_cell, false);
  // The same state may come twice, as a push and as an answer.
  if (state.turn != mine || state.revision <= answered_revision_) return;
  answered_revision_ = state.revision;
  const std::vector<int> cells = free_cells(state);
  place(cells[spotmesh::random_below(random_, cells.size())], true);
}

void SimPlayer::place(int cell, bool is_legal) {
  client_->request<PlaceMarkResult>(
      PlaceMark{.cell = cell}, [this, cell, is_legal](const Result<PlaceMarkResult>& reply) {
        if (reply) {
          if (!is_legal) complain("a forbidden move was taken: " + std::to_string(cell));
          return see(reply->state);
        }
        if (is_passing(reply.error())) {
          answered_revision_ = 0;
          wants_retry_ = true;
        } else if (is_legal && reply.error().kind() != ErrorKind::InvalidOperation) {
          complain("cannot place: " + to_string(reply.error()));
        }
      });
}

}  // namespace tictactoe::simulation
