#include "server/directory.hpp"

#include <algorithm>
#include <chrono>
#include <tuple>
#include <utility>
#include <vector>

#include "server/names.hpp"

namespace tictactoe {

using namespace std::chrono_literals;
using spotmesh::Error;
using spotmesh::Result;

namespace {

constexpr std::size_t most_rooms_listed = 100;
constexpr std::size_t most_subscribers = 10'000;
constexpr auto telling_delay = 100ms;
constexpr auto tidying_period = 20s;
constexpr auto silence_limit = 60s;

}  // namespace

void Directory::handlers(spotmesh::Handlers<Directory>& on) {
  on.request(&Directory::subscribe);
  on.send(&Directory::unsubscribe);
  on.send(&Directory::room_changed);
  on.send(&Directory::room_closed);
  on.timer("tell", &Directory::tell);
  on.timer("tidy", tidying_period, &Directory::tidy);
}

Result<RoomList> Directory::subscribe(const internal::Subscribe& request) {
  if (subscribers_.size() >= most_subscribers && !subscribers_.contains(request.player_id)) {
    return fail(Error::capacity_exceeded("the lobby is crowded: try again in a moment"));
  }
  subscribers_.insert(request.player_id);
  return list();
}

void Directory::unsubscribe(const internal::Unsubscribe& request) {
  subscribers_.erase(request.player_id);
}

void Directory::room_changed(const internal::RoomChanged& change) {
  const auto [entry, is_new] = rooms_.try_emplace(room_id(change.room.name));
  if (is_new) entry->second.number = ++last_number_;
  entry->second.heard_at = context().now();
  if (!is_new && entry->second.room == change.room) return;
  entry->second.room = change.room;
  tell_soon();
}

void Directory::room_closed(const internal::RoomClosed& closed) {
  if (rooms_.erase(room_id(closed.room)) > 0) tell_soon();
}

void Directory::tell_soon() {
  if (std::exchange(is_telling_soon_, true)) return;
  std::ignore = context().timers().start_once("tell", telling_delay);
}

void Directory::tell() {
  is_telling_soon_ = false;
  // Encoded once, whatever the number of players.
  const auto message = spotmesh::Message::of(RoomListNotify{.rooms = list().rooms});
  for (const std::string& player : subscribers_) {
    std::ignore = context().actors().send(player, message).submit();
  }
}

void Directory::tidy() {
  const spotmesh::Instant oldest = context().now() - silence_limit;
  const auto dropped =
      std::erase_if(rooms_, [&](const auto& room) { return room.second.heard_at < oldest; });
  if (dropped > 0) tell_soon();
}

RoomList Directory::list() const {
  std::vector<const Entry*> entries;
  entries.reserve(rooms_.size());
  for (const auto& [id, entry] : rooms_) entries.push_back(&entry);
  std::ranges::sort(entries, {}, [](const Entry* entry) {
    return std::pair(entry->room.players.size() >= 2, entry->number);
  });
  if (entries.size() > most_rooms_listed) entries.resize(most_rooms_listed);
  RoomList list;
  for (const Entry* entry : entries) list.rooms.push_back(entry->room);
  return list;
}

}  // namespace tictactoe
