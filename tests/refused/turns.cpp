// Turns as they should be written, and mistakes that must not compile.
#include <chrono>
#include <string>

#include <spotmesh/spotmesh.hpp>

using namespace spotmesh;
using namespace std::chrono_literals;

// Its traits declare what nobody defines, which only a type that others could define it for may.
struct Word {};

namespace {

struct Pawn : Actor {
  using Actor::Actor;
};

struct Hall : EntrySpot<Pawn> {
  using EntrySpot::EntrySpot;
  void look(Pawn&, const Word&) const {}
  void change(Pawn&, const Word&) { ++changes; }
  int changes = 0;
};

struct Yard : PerActorSpot<Pawn> {
  using PerActorSpot::PerActorSpot;
  Task<JoinDecision> on_actor_join(std::string_view, const Message&) override {
    co_return JoinDecision::accept();
  }
  void look(Pawn&, const Word&) const {}
  void change(Pawn&, const Word&) { ++changes; }
  void tick(const TimerTick&) const {}
  void change_by_timer(const TimerTick&) { ++changes; }
  int changes = 0;
};

struct Room : UserSpot<Pawn> {
  using UserSpot::UserSpot;
  Task<JoinDecision> on_actor_join(std::string_view, const Message&) override {
    co_return JoinDecision::accept();
  }
  void change(Pawn&, const Word&) { ++changes; }
  void change_by_timer(const TimerTick&) { ++changes; }
  int changes = 0;
};

}  // namespace

template <>
struct spotmesh::PacketTraits<Word> {
  static const PacketDescriptor& descriptor();
  static Bytes encode(const Word&);
  static SharedBytes encode_shared(const Word&);
  static Result<Word> decode(ByteView);
  static Word decode_sound(ByteView);
};

void handlers_of_hall(Handlers<Hall>& on) {
  on.send(&Hall::look);
#ifdef MEMBER_CHANGES_ENTRY_SPOT  // refused: make this handler const
  on.send(&Hall::change);
#endif
}

void handlers_of_yard(Handlers<Yard>& on) {
  on.send(&Yard::look);
  on.timer("tick", 1s, &Yard::tick);
#ifdef MEMBER_CHANGES_PER_ACTOR_SPOT  // refused: make this handler const
  on.send(&Yard::change);
#endif
#ifdef TIMER_CHANGES_PER_ACTOR_SPOT  // refused: make this handler const
  on.timer("change", 1s, &Yard::change_by_timer);
#endif
}

void handlers_of_room(Handlers<Room>& on) {
  on.send(&Room::change);
  on.timer("change", 1s, &Room::change_by_timer);
}

void join(ActorContext& context) {
  (void)context.join_spot("room").defer();
#ifdef JOIN_IS_SUBMITTED  // refused: no member named 'submit'
  (void)context.join_spot("room").submit();
#endif
#ifdef JOIN_YIELDS  // refused: no member named 'yield'
  (void)context.join_spot("room").yield();
#endif
}

#ifdef JOIN_IS_AWAITED  // refused: co_await
Task<void> wait_for_join(ActorContext& context) { co_await context.join_spot("room"); }
#endif
