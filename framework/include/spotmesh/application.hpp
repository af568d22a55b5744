// Application: what a game registers, apart from how it is run.
#pragma once

#include <concepts>
#include <memory>
#include <source_location>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <spotmesh/object_server.hpp>
#include <spotmesh/packet.hpp>
#include <spotmesh/registration.hpp>
#include <spotmesh/session.hpp>
#include <spotmesh/session_handlers.hpp>

namespace spotmesh {

// A mesh: the set of nodes that host and call one family of objects, by name.
class Mesh {
 public:
  explicit Mesh(registration::MeshModel& model) : model_(model) {}

  // This node hosts Actors and Spots of the mesh (and calls them). The same server each time.
  ObjectServer& object_server();
  // This node only calls objects of the mesh.
  Mesh& object_client();

 private:
  registration::MeshModel& model_;
  std::unique_ptr<ObjectServer> server_;
};

template <std::derived_from<Session> S>
class SessionFactory {
 public:
  explicit SessionFactory(registration::SessionType& type) : type_(type) {}

  // Makes the session instead of `S(SessionContext&)`: `f(SessionContext&)` returns unique_ptr<S>.
  // Called once per connection; a throw or a null pointer closes it.
  template <typename F>
  SessionFactory& create_with(F f) {
    static_assert(std::is_invocable_r_v<std::unique_ptr<S>, F&, SessionContext&>,
                  "create_with takes f(SessionContext&) that returns std::unique_ptr<S> of the "
                  "registered class");
    type_.factory = [f](SessionContext& context) -> std::unique_ptr<Session> { return f(context); };
    return *this;
  }

 private:
  registration::SessionType& type_;
};

// A STREAM gateway: where clients connect.
class Stream {
 public:
  explicit Stream(registration::StreamModel& model) : model_(model) {}

  // The one Session class of this gateway.
  template <std::derived_from<Session> S>
  Stream& session() {
    return session<S>([](SessionFactory<S>&) {});
  }
  template <std::derived_from<Session> S, std::invocable<SessionFactory<S>&> Configure>
  Stream& session(Configure configure) {
    registration::SessionType type;
    if constexpr (std::constructible_from<S, SessionContext&>) {
      type.factory = [](SessionContext& context) -> std::unique_ptr<Session> {
        return std::make_unique<S>(context);
      };
    }
    SessionFactory<S> factory(type);
    configure(factory);
    if constexpr (requires(SessionHandlers<S>& on) { S::handlers(on); }) {
      SessionHandlers<S> on(type.handlers);
      S::handlers(on);
    }
    set_session(std::move(type));
    return *this;
  }

 private:
  void set_session(registration::SessionType type);

  registration::StreamModel& model_;
};

// Filled in by a function `void configure(Application&)` that a Host runs on the real world and a
// testing::Cluster in the simulator, unchanged. Not thread-safe; nothing changes it after the
// start.
class Application {
 public:
  Application();
  Application(const Application&) = delete;
  Application& operator=(const Application&) = delete;
  ~Application();

  // The packets of a schema: `app.packets(tictactoe::packets())`. Clients can only send and get
  // packets that are named here.
  Application& packets(PacketSet packets);
  // The mesh of that name, made by the first call. Names are `[A-Za-z0-9._-]{1,64}`.
  Mesh& mesh(std::string_view name, std::source_location where = std::source_location::current());
  // The gateway of that name, made by the first call.
  Stream& stream(std::string_view name,
                 std::source_location where = std::source_location::current());

  // All that has been registered, for the runtime.
  const registration::ApplicationModel& model() const { return model_; }

 private:
  registration::ApplicationModel model_;
  std::vector<std::unique_ptr<Mesh>> meshes_;
  std::vector<std::unique_ptr<Stream>> streams_;
};

}  // namespace spotmesh
