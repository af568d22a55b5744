// How an Actor's state travels when it moves to another node, or outlives the loss of its node.
#pragma once

#include <concepts>
#include <type_traits>
#include <utility>

#include <spotmesh/actor.hpp>
#include <spotmesh/bytes.hpp>
#include <spotmesh/registration.hpp>
#include <spotmesh/signatures.hpp>
#include <spotmesh/task.hpp>

namespace spotmesh {

// An adapter turns an Actor into bytes and back. Both functions may be called again for one move;
// an empty result is a valid state. Each returns its value or a Task of it.
template <typename T, typename A>
concept StateAdapterFor = std::default_initializable<T> && requires(T& adapter, A& actor,
                                                                    const Bytes& state) {
  requires std::same_as<typename detail::Returned<decltype(adapter.capture(actor))>::Value, Bytes>;
  requires std::is_void_v<
      typename detail::Returned<decltype(adapter.restore(actor, state))>::Value>;
};

namespace detail {

template <typename T, typename A>
class TypedStateAdapter final : public registration::StateAdapter {
 public:
  Task<Bytes> capture(Actor& actor) override {
    if constexpr (Returned<decltype(adapter_.capture(static_cast<A&>(actor)))>::is_task) {
      return adapter_.capture(static_cast<A&>(actor));
    } else {
      return ready(adapter_.capture(static_cast<A&>(actor)));
    }
  }
  Task<void> restore(Actor& actor, Bytes state) override {
    if constexpr (Returned<decltype(adapter_.restore(static_cast<A&>(actor), state))>::is_task) {
      co_await adapter_.restore(static_cast<A&>(actor), state);
    } else {
      adapter_.restore(static_cast<A&>(actor), state);
      co_return;
    }
  }

 private:
  static Task<Bytes> ready(Bytes bytes) { co_return bytes; }

  T adapter_;
};

}  // namespace detail
}  // namespace spotmesh
