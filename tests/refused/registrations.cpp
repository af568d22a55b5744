// Registrations as they should be, and mistakes that must not compile.
#include <memory>
#include <string>

#include <spotmesh/spotmesh.hpp>

using namespace spotmesh;

namespace {

struct Pawn : Actor {
  using Actor::Actor;
};
struct Rook : Actor {
  using Actor::Actor;
};
struct Hall : EntrySpot<Pawn> {
  using EntrySpot::EntrySpot;
};
struct Room : UserSpot<Pawn> {
  using UserSpot::UserSpot;
};
struct Tower : UserSpot<Pawn> {
  using UserSpot::UserSpot;
};

struct PawnState {
  Bytes capture(Pawn&) { return {}; }
  void restore(Pawn&, const Bytes&) {}
};
struct SlowPawnState {
  Task<Bytes> capture(Pawn&) { co_return Bytes(); }
  Task<void> restore(Pawn&, Bytes) { co_return; }
};
struct RookState {
  Bytes capture(Rook&) { return {}; }
  void restore(Rook&, const Bytes&) {}
};
struct OneWayState {
  Bytes capture(Pawn&) { return {}; }
};
struct TextState {
  std::string capture(Pawn&) { return {}; }
  void restore(Pawn&, const Bytes&) {}
};
struct NamedState : PawnState {
  explicit NamedState(std::string) {}
};

}  // namespace

void configure(ObjectServer& play) {
  play.entry_spot<Hall>();
  play.actor<Pawn>("pawn", [](auto& f) { f.template preserve_state_with<PawnState>(); });
  play.actor<Pawn>("page", [](auto& f) {
    f.template preserve_state_with<SlowPawnState>().create_with(
        [](ActorContext& context) { return std::make_unique<Pawn>(context); });
  });
  play.user_spot<Room>("room", [](auto& f) {
    f.disable_relocation().create_with(
        [](SpotContext& context) { return std::make_unique<Room>(context); });
  });

#ifdef WITHOUT_ADAPTER  // refused: no matching member function
  play.actor<Pawn>("p", [](ActorFactory<Pawn>& f) { f.preserve_state_with(); });
#endif
#ifdef ADAPTER_OF_ANOTHER_CLASS  // refused: for this very Actor class
  play.actor<Pawn>("p", [](auto& f) { f.template preserve_state_with<RookState>(); });
#endif
#ifdef ADAPTER_WITHOUT_RESTORE  // refused: the adapter needs
  play.actor<Pawn>("p", [](auto& f) { f.template preserve_state_with<OneWayState>(); });
#endif
#ifdef ADAPTER_OF_ANOTHER_RESULT  // refused: the adapter needs
  play.actor<Pawn>("p", [](auto& f) { f.template preserve_state_with<TextState>(); });
#endif
#ifdef ADAPTER_WITHOUT_CONSTRUCTOR  // refused: and a default constructor
  play.actor<Pawn>("p", [](auto& f) { f.template preserve_state_with<NamedState>(); });
#endif
#ifdef CHECKPOINTS_OF_ANOTHER_CLASS  // refused: for this very Actor class
  play.actor<Pawn>("p", [](auto& f) { f.template checkpointed_by<RookState>(); });
#endif
#ifdef FACTORY_OF_ANOTHER_ACTOR  // refused: of the registered class
  play.actor<Pawn>("p", [](auto& f) {
    f.disable_relocation().create_with(
        [](ActorContext& context) { return std::make_unique<Rook>(context); });
  });
#endif
#ifdef FACTORY_OF_ANOTHER_SPOT  // refused: of the registered class
  play.user_spot<Room>("r", [](auto& f) {
    f.disable_relocation().create_with(
        [](SpotContext& context) { return std::make_unique<Tower>(context); });
  });
#endif
#ifdef WITHOUT_POLICY  // refused: an Actor type chooses its relocation policy
  play.actor<Pawn>("p");
#endif
}
