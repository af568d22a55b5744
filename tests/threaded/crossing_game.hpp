// A game whose objects speak across nodes all the time, and keep account of it.
#pragma once

#include <chrono>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <spotmesh/spotmesh.hpp>

#include "crossing.packets.hpp"
#include "crossing_record.hpp"

namespace spotmesh::crossing_game {

inline constexpr auto patience = std::chrono::seconds(30);

// What a resident says and hears.
class Voice {
 public:
  struct Said {
    int to;
    std::int64_t number;
    Task<Result<void>> outcome;
  };

  Voice(Context& context, Verdict& verdict, int self)
      : context_(context), verdict_(verdict), record_(verdict.of(self)), self_(self) {}

  Said say(int to) {
    const std::int64_t number = next_number(to);
    const crossing::Step step{.from = self_, .number = number};
    const std::string name = name_of_resident(to);
    return {to, number,
            is_courier(to) ? context_.actors().send(name, step).submit()
                           : context_.spots().send(name, step).submit()};
  }
  // Several may have been said before the first of them is known to have been accepted.
  Task<void> keep(std::vector<Said> all) {
    for (Said& each : all) {
      if (check(co_await std::move(each.outcome))) {
        record_.said.at(static_cast<std::size_t>(each.to)).push_back(each.number);
      }
    }
  }
  void hear(const crossing::Step& step) {
    record_.heard.at(static_cast<std::size_t>(step.from)).push_back(step.number);
  }
  Task<void> ask(int whom) {
    const crossing::Ask ask{.number = next_number(whom)};
    const std::string name = name_of_resident(whom);
    auto call = is_courier(whom) ? context_.actors().request<crossing::Answer>(name, ask)
                                 : context_.spots().request<crossing::Answer>(name, ask);
    auto answer = co_await std::move(call).timeout(patience).submit();
    if (check(answer) && answer->number != ask.number) fault("an answer to another request");
  }
  // The answers come behind all that was said before.
  Task<crossing::Settled> settle() {
    for (int other = 0; other < residents; ++other) {
      if (other != self_) co_await ask(other);
    }
    co_return crossing::Settled{};
  }

  std::int64_t next_number(int to) {
    return ++record_.last_number.at(static_cast<std::size_t>(to));
  }
  template <typename T>
  bool check(const Result<T>& result) {
    if (!result) fault(to_string(result.error()));
    return result.has_value();
  }
  // What has to do with an object that others create and destroy.
  template <typename T>
  void check_passing(const Result<T>& result) {
    if (result || is_passing(result.error().kind())) return;
    fault(to_string(result.error()));
  }
  static bool is_passing(ErrorKind kind) {
    return kind == ErrorKind::NotFound || kind == ErrorKind::Unavailable ||
           kind == ErrorKind::InvalidOperation;
  }
  void fault(std::string text) { record_.faults.push_back(std::move(text)); }

  Record& record() { return record_; }
  Verdict& verdict() { return verdict_; }
  int self() const { return self_; }

 private:
  Context& context_;
  Verdict& verdict_;
  Record& record_;
  const int self_;
};

inline int number_in(const std::string& id, std::string_view prefix) {
  return std::stoi(id.substr(prefix.size()));
}

inline crossing::Answer answer_to(const crossing::Ask& ask) { return {.number = ask.number}; }

class Wanderer : public Actor {
 public:
  Wanderer(ActorContext& context, Verdict& verdict) : Actor(context), verdict_(verdict) {}
  static void handlers(ActorHandlers<Wanderer>& on) {
    on.send(&Wanderer::step);
    on.request(&Wanderer::ask);
  }
  void step(const crossing::Step& step) {
    const int self = number_in(context().actor_id().text(), "wanderer");
    verdict_.meet(static_cast<std::size_t>(self), step.from, step.number);
  }
  crossing::Answer ask(const crossing::Ask& ask) { return answer_to(ask); }

 private:
  Verdict& verdict_;
};

class Tent : public UserSpot<Actor> {
 public:
  Tent(SpotContext& context, Verdict& verdict) : UserSpot(context), verdict_(verdict) {}
  static void handlers(Handlers<Tent>& on) {
    on.send(&Tent::step);
    on.request(&Tent::ask);
    on.subscribe("crossing", "weather", &Tent::weather);
  }
  void step(const crossing::Step& step) {
    const int self = wanderers + number_in(context().spot_id().text(), "tent");
    verdict_.meet(static_cast<std::size_t>(self), step.from, step.number);
  }
  crossing::Answer ask(const crossing::Ask& ask) { return answer_to(ask); }
  void weather(const crossing::Weather& weather) {
    std::int64_t& last = last_weather_.at(static_cast<std::size_t>(weather.from));
    if (last >= weather.number) verdict_.misorders.fetch_add(1);
    last = weather.number;
    verdict_.weathers.fetch_add(1, std::memory_order_relaxed);
  }

 private:
  Verdict& verdict_;
  std::array<std::int64_t, couriers> last_weather_{};
};

class Post : public UserSpot<Actor> {
 public:
  Post(SpotContext& context, Verdict& verdict)
      : UserSpot(context), voice_(context, verdict, number_in(context.spot_id().text(), "post")) {}
  static void handlers(Handlers<Post>& on) {
    on.send(&Post::step);
    on.request(&Post::ask);
    on.request(&Post::settle);
    on.subscribe("crossing", "news", &Post::news);
  }
  // Every other step is answered with one of its own.
  Task<void> step(const crossing::Step& step) {
    voice_.hear(step);
    if (step.number % 2 != 0) co_return;
    std::vector<Voice::Said> echo;
    echo.push_back(voice_.say(step.from));
    co_await voice_.keep(std::move(echo));
  }
  crossing::Answer ask(const crossing::Ask& ask) { return answer_to(ask); }
  Task<crossing::Settled> settle(const crossing::Settle&) { return voice_.settle(); }
  void news(const crossing::News& news) {
    voice_.record().news.at(static_cast<std::size_t>(news.from)).push_back(news.number);
  }

 private:
  Voice voice_;
};

}  // namespace spotmesh::crossing_game
