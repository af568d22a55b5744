// What is known of an Actor, in sentences.
#include <fmt/format.h>

#include <string>

#include "cli/json_text.hpp"
#include "cli/terminal_text.hpp"
#include "cli/why.hpp"

namespace spotmesh::cli {
namespace {

using nlohmann::json;

std::string seconds_text(std::uint64_t milliseconds) {
  return fmt::format("{:.1f} s", static_cast<double>(milliseconds) / 1000);
}

// "1 message waits", "3 messages wait".
std::string waiting_text(std::uint64_t count, std::string_view what) {
  return count == 1 ? fmt::format("1 {} waits", what) : fmt::format("{} {}s wait", count, what);
}

class ActorTeller {
 public:
  explicit ActorTeller(const json& document) : document_(document) {}

  Story tell() {
    tell_record();
    tell_owner();
    if (at(document_, "report").is_object()) {
      tell_lease();
      tell_place();
      tell_queue();
      tell_gate();
      tell_waits();
      tell_binding();
      tell_recent();
    } else if (!text_at(document_, "report_reason").empty()) {
      say("Its owner says nothing of it: {}.", shown_words(text_at(document_, "report_reason")));
      story_.is_whole = false;
    }
    return std::move(story_);
  }

 private:
  template <typename... Args>
  void say(fmt::format_string<Args...> format, Args&&... args) {
    story_.sentences.push_back(fmt::format(format, std::forward<Args>(args)...));
  }

  std::string name() const { return shown(text_at(document_, "actor")); }
  std::string asked() const { return shown(text_at(document_, "node")); }

  void tell_record() {
    const json& record = at(document_, "record");
    if (!record.is_object()) {
      story_.is_whole = false;
      return say("What the Location Store says of Actor {} cannot be had: {}.", name(),
                 shown_words(text_at(document_, "record_error")));
    }
    const std::string standing = text_at(record, "standing");
    if (standing == "Missing") {
      story_.is_whole = at(document_, "report").is_object();
      return say("The Location Store has no Actor {}: it was never created, or has been destroyed.",
                 name());
    }
    say("Actor {} is of type {} in mesh {}, incarnation {}, owner generation {}.", name(),
        shown(text_at(record, "type")), shown(text_at(record, "mesh")),
        shown(text_at(record, "object_generation")), shown(text_at(record, "owner_generation")));
    if (const std::string taken = text_at(record, "takeover_count"); taken != "0") {
      say("Its id was taken over from a dead owner {} times.", shown(taken));
    }
    tell_standing(standing);
  }

  void tell_standing(const std::string& standing) {
    const std::uint64_t quiet =
        number_at(document_, "lease_ttl_ms") + number_at(document_, "lease_margin_ms");
    if (standing == "Creating") {
      say("It is being created: nobody can find it until its Entry Spot has accepted it.");
      story_.is_whole = false;
    } else if (standing == "Silent") {
      say("Its owner's lease has run out. Messages get Unavailable; when the lease has stood still "
          "for {}, the id can be created again.",
          seconds_text(quiet));
      story_.is_whole = false;
    } else if (standing == "OwnerLost") {
      say("Its owner is gone for good. Messages get Unavailable; the next create or get_or_create "
          "takes the id over.");
      story_.is_whole = false;
    }
  }

  void tell_owner() {
    const json& owner = at(document_, "owner");
    if (!owner.is_object()) return;
    const std::string node = shown(text_at(owner, "node"));
    if (is_true_at(owner, "is_self")) return say("It is owned by node {}, the one asked.", node);
    const std::string generation =
        shown(text_at(at(at(document_, "record"), "owner"), "lease_generation"));
    if (!is_true_at(owner, "is_known")) {
      story_.is_whole = false;
      return say(
          "It is owned by node {} (lease generation {}), of which node {} knows nothing any "
          "more.",
          node, generation, asked());
    }
    say("It is owned by node {} ({}, lease generation {}), reached at {}; as node {} sees it, {}.",
        node, shown(text_at(owner, "state")), generation,
        text_at(owner, "address").empty() ? "no address" : shown(text_at(owner, "address")),
        asked(), verdict_text(text_at(owner, "verdict")));
  }

  static std::string_view verdict_text(std::string_view verdict) {
    if (verdict == "Alive") return "its lease is alive";
    if (verdict == "Silent") return "its lease has run out";
    if (verdict == "Fenced") return "its lease is over for good";
    return "its lease has not been watched for long enough to be judged";
  }

  const json& report() const { return at(document_, "report"); }
  const json& actor() const { return at(report(), "actor"); }

  void tell_lease() {
    const json& lease = at(report(), "lease");
    if (is_true_at(lease, "is_admitted")) {
      return say("The owner may run turns for another {} without a renewal.",
                 seconds_text(number_at(lease, "left_ms")));
    }
    say("The owner's lease has run out and is not renewed: none of its turns starts. See whether "
        "its Location Store answers.");
  }

  void tell_place() {
    const std::string spot = text_at(at(actor(), "spot"), "id");
    const json& room = at(report(), "spot");
    if (spot.empty()) return say("It is {}, in no Spot.", shown(text_at(actor(), "state")));
    say("It is {} in Spot {} ({}, {}, {} members).", shown(text_at(actor(), "state")), shown(spot),
        shown(text_at(at(actor(), "spot"), "type")), shown(text_at(room, "execution")),
        number_at(room, "members"));
    if (is_true_at(actor(), "is_in_transition")) {
      say("A Join of it, or its end, is under way.");
    }
  }

  void tell_queue() {
    const json& mailbox = at(actor(), "mailbox");
    const std::uint64_t messages = number_at(mailbox, "application");
    const std::uint64_t callbacks = number_at(mailbox, "control");
    const json& turn = at(mailbox, "turn");
    if (turn.is_object()) {
      say("Its turn for {} has been running for {}.", shown(text_at(turn, "for")),
          seconds_text(number_at(turn, "age_ms")));
    } else {
      say("No turn of it is running.");
    }
    if (messages == 0 && callbacks == 0) {
      say("Nothing waits in its mailbox.");
    } else {
      say("In its mailbox {} and {}.", waiting_text(messages, "message"),
          waiting_text(callbacks, "callback"));
    }
    if (is_true_at(mailbox, "is_held")) say("Its messages are held until its Join has ended.");
    if (is_true_at(mailbox, "is_claimed")) say("A callback or the end of a move has claimed it.");
  }

  // Whose turn has the gate that a Spot shares with its members.
  void tell_gate() {
    const json& spot = at(report(), "spot");
    if (text_at(spot, "execution") != "SpotWide") return;
    const auto tell_turn = [this](std::string_view who, const json& turn) {
      if (!turn.is_object()) return;
      say("{} shares its gate, and has a turn for {} that began {} ago.", who,
          shown(text_at(turn, "for")), seconds_text(number_at(turn, "age_ms")));
    };
    tell_turn("Its Spot", at(at(spot, "mailbox"), "turn"));
    for (const json& member : at(report(), "running_members")) {
      tell_turn("Actor " + shown(text_at(member, "id")), at(at(member, "mailbox"), "turn"));
    }
  }

  void tell_waits() {
    for (const json& what : at(report(), "waits_for")) {
      if (what.is_string()) {
        say("It waits for the reply to its {}.", shown_words(what.get<std::string>()));
      }
    }
  }

  void tell_binding() {
    const std::string session = text_at(at(actor(), "binding"), "session");
    if (session.empty()) return say("No client session is bound to it.");
    const json& row = at(document_, "session");
    if (row.is_object()) {
      return say(
          "Session {} on node {} is bound to it, {}, for a client at {}, with {} bytes that "
          "the client has not read.",
          shown(session), shown(text_at(row, "node")), shown(text_at(row, "state")),
          shown(text_at(row, "remote_address")), number_at(row, "unsent_bytes"));
    }
    story_.is_whole = false;
    say("Session {} on node {} is bound to it, of which nothing can be said: {}.", shown(session),
        shown(text_at(at(actor(), "binding"), "node")),
        shown_words(text_at(document_, "session_reason")));
  }

  void tell_recent() {
    const json& recent = at(report(), "recent");
    if (!recent.is_array() || recent.empty()) return;
    say("Lately:");
    for (const json& event : recent) {
      std::string text =
          fmt::format("  {} {}", shown(text_at(event, "time")), shown(text_at(event, "kind")));
      for (const auto& [key, value] : at(event, "fields").items()) {
        text += fmt::format(" {}={}", shown(key),
                            shown(value.is_string() ? value.get<std::string>() : value.dump()));
      }
      say("{}", text);
    }
  }

  const json& document_;
  Story story_;
};

}  // namespace

Story actor_story(const json& document) { return ActorTeller(document).tell(); }

}  // namespace spotmesh::cli
