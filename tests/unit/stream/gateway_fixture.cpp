#include "gateway_fixture.hpp"

#include <algorithm>

namespace spotmesh::stream {
namespace {

void register_game(Application& application, Script& script) {
  application.packets(chat::packets());
  application.stream("gateway").session<ChatSession>(
      [&script](SessionFactory<ChatSession>& factory) {
        factory.create_with([&script](SessionContext& context) {
          return std::make_unique<ChatSession>(context, script);
        });
      });
}

}  // namespace

GatewayFixture::GatewayFixture(StreamOptions stream_options,
                               spotmesh::testing::LinkConditions conditions, std::uint64_t seed)
    : world({.seed = seed}),
      node(world.add_node("node-1")),
      links(world, world.random("links"), conditions),
      store(world, world.random("store")),
      store_client(store.connect("node-1")),
      bindings(world),
      strand(node.scheduler()) {
  register_game(application, script);
  frozen = std::make_unique<objects::FrozenApplication>(application);
  // Never started: of it the sessions use only what their contexts need to exist.
  // That of the node on which the Actors live that BindingDouble knows.
  objects::NodeIdentity identity = objects::new_identity("node", node.random());
  identity.rid = {"node-1"};
  objects = std::make_unique<objects::ObjectsNode>(*frozen, identity, objects::ObjectsConfig{},
                                                   objects::Seams{.clock = node.clock(),
                                                                  .scheduler = node.scheduler(),
                                                                  .timers = node.timers(),
                                                                  .workers = node.workers(),
                                                                  .store = *store_client,
                                                                  .random = node.random(),
                                                                  .log = log,
                                                                  .events = world.trace(),
                                                                  .observer = &node.observer()});
  server = std::make_unique<StreamServer>(
      *frozen, *frozen->streams().front(), objects->identity(),
      StreamSeams{.clock = node.clock(),
                  .scheduler = node.scheduler(),
                  .timers = node.timers(),
                  .strand = strand,
                  .random = node.random(),
                  .log = log,
                  .events = world.trace(),
                  .bindings = bindings,
                  .observer = &node.observer()},
      [this](const SessionId& session) { return objects->new_session_caller(session); },
      stream_options);
  bindings.set_routes(*server);
  REQUIRE(links.listen({}, *server));
  REQUIRE(links.listen({.framing = LinkInfo::Framing::LengthPrefixed}, *server));
}

GatewayFixture::~GatewayFixture() {
  CHECK(world.violations().empty());
  links.crash();
  server->abandon();
  objects->abandon();
  strand.close();
  node.end();
}

SimStreamClient GatewayFixture::connect(const std::string& name) {
  auto client = spotmesh::testing::connect_stream_client(links, world.random("clients"),
                                                         client_packets, name);
  REQUIRE(client);
  wait_for([&] { return script.living.contains(name) || !client->is_open(); });
  return *std::move(client);
}

SimStreamClient GatewayFixture::connect_bound(const std::string& name,
                                              const std::vector<std::string>& actors) {
  for (const std::string& actor : actors) bindings.add(actor);
  SimStreamClient client = connect(name);
  REQUIRE(ask<chat::Done>(client, chat::Bind{.actors = actors}));
  return client;
}

void GatewayFixture::wait_for(const std::function<bool()>& is_done) {
  const SimOutcome outcome = world.run_until(is_done, 60s);
  INFO(world.trace().text());
  REQUIRE(outcome == SimOutcome::Done);
}

bool GatewayFixture::has_seen(const std::string& what) const { return times_seen(what) > 0; }

std::size_t GatewayFixture::times_seen(const std::string& what) const {
  return static_cast<std::size_t>(std::ranges::count_if(
      script.seen, [&](const std::string& each) { return each.find(what) != std::string::npos; }));
}

}  // namespace spotmesh::stream
