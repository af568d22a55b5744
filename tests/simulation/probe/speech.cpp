#include "speech.hpp"

#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "probe.packets.hpp"

namespace probe {

using namespace spotmesh;

namespace {

using UnderWay = std::vector<std::pair<std::uint32_t, Task<Result<void>>>>;

void check_refusal(Ledger& ledger, std::string_view what, const Error& error) {
  if (!is_expected(error)) {
    ledger.complain(std::string(what) + " was refused with " + to_string(error));
  }
}

}  // namespace

bool is_expected(const Error& error) {
  switch (error.kind()) {
    case ErrorKind::NotFound:
    case ErrorKind::Unavailable:
    case ErrorKind::CapacityExceeded:
    case ErrorKind::DeadlineExceeded:
    case ErrorKind::ShuttingDown:
    case ErrorKind::InvalidOperation:
      return true;
    default:
      return false;
  }
}

const ActorRef& ref_of(const CreateResult& result) {
  if (const auto* created = std::get_if<Created>(&result)) return created->actor;
  return std::get<Existing>(result).actor;
}

const SpotRef& ref_of(const SpotCreateResult& result) {
  if (const auto* created = std::get_if<SpotCreated>(&result)) return created->spot;
  return std::get<SpotExisting>(result).spot;
}

Task<void> say_words(Context& context, Ledger& ledger, Life from, std::string to,
                     std::uint32_t count) {
  const Ledger::Pending pending(ledger, fmt::format("words of {} to '{}'", name_of(from), to));
  UnderWay under_way;
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t number = ledger.next_word(from, to);
    const Word word{.sender = from.id, .life = from.generation, .number = number};
    under_way.emplace_back(number, context.actors().send(to, word).submit());
  }
  for (auto& [number, pending] : under_way) {
    const auto accepted = co_await std::move(pending);
    if (accepted) {
      ledger.sent(from, to, number);
    } else {
      check_refusal(ledger, "a word", accepted.error());
    }
  }
}

Task<void> publish_bulletins(Context& context, Ledger& ledger, Life from, std::string topic,
                             std::uint32_t count) {
  const Ledger::Pending pending(ledger,
                                fmt::format("bulletins of {} about {}", name_of(from), topic));
  UnderWay under_way;
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t number = ledger.bulletins().next(from, topic);
    const Bulletin bulletin{
        .sender = from.id, .life = from.generation, .topic = topic, .number = number};
    under_way.emplace_back(number, context.publish(channel, topic, bulletin).submit());
  }
  for (auto& [number, pending] : under_way) {
    const auto accepted = co_await std::move(pending);
    if (accepted) {
      ledger.bulletins().published(from, topic, number);
    } else {
      check_refusal(ledger, "a bulletin", accepted.error());
    }
  }
}

}  // namespace probe
