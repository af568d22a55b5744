#include "objects/inspection.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <string_view>
#include <tuple>
#include <utility>

#include "objects/core.hpp"
#include "objects/descriptor_publisher.hpp"
#include "objects/node_directory.hpp"
#include "objects/page_walk.hpp"
#include "objects/registry.hpp"

namespace spotmesh::objects {
namespace {

MailboxRow row_of_mailbox(const runtime::Mailbox& mailbox, Instant now) {
  MailboxRow row{.backlog = mailbox.backlog(), .running = {}};
  if (const auto turn = mailbox.oldest_turn()) {
    // The turn may have begun after `now` was read.
    row.running = {.what = std::string(turn->what),
                   .age = std::max(now - turn->since, Duration::zero())};
  }
  return row;
}

template <typename Cell>
bool has_type_and_mesh(const PageWanted& wanted, const std::string& type, const Cell& cell) {
  return (wanted.type.empty() || wanted.type == type) &&
         (wanted.mesh.empty() || wanted.mesh == cell.mesh().name);
}

// What a walk over the cells of one kind needs to know, whichever kind it is.
template <typename C, typename R>
class ObjectSource {
 public:
  using Cell = C;
  using Row = R;
  using Id = std::string_view;
  static constexpr std::size_t shard_count = Registry::shard_count;

  void look_at(std::size_t shard, const std::function<void(Cell&)>& visit) const {
    core_.registry->look_at(shard, visit);
  }
  static Id id_of(const Cell& cell) { return cell.id().text(); }
  static Id id_from(const std::string& text) { return text; }
  static std::string text_of(Id id) { return std::string(id); }

 protected:
  explicit ObjectSource(Core& core) : core_(core) {}

  Core& core_;
};

class ActorSource : public ObjectSource<ActorCell, ActorRow> {
 public:
  explicit ActorSource(Core& core) : ObjectSource(core) {}

  runtime::Ref<Cell> find(const std::string& id) const { return core_.registry->find_actor(id); }
  bool is_wanted(const PageWanted& wanted, Cell& cell) const {
    if (!has_type_and_mesh(wanted, cell.type().name.text(), cell)) return false;
    if (wanted.spot.empty()) return true;
    const auto spot = cell.spot();
    return spot && spot->id().text() == wanted.spot;
  }
  Row row_of(Cell& cell) const {
    Row row{.ref = cell.ref(),
            .type = cell.type().name.text(),
            .state = cell.state,
            .owner_generation = {},
            .spot = {},
            .spot_type = {},
            .is_in_transition = cell.is_in_transition(),
            .binding = cell.binding(),
            .mailbox = row_of_mailbox(cell.mailbox(), core_.now())};
    if (cell.authority) row.owner_generation = cell.authority->owner_generation();
    if (const auto spot = cell.spot()) {
      row.spot = spot->ref();
      row.spot_type = spot->type().name;
    }
    return row;
  }
};

class SpotSource : public ObjectSource<SpotCell, SpotRow> {
 public:
  explicit SpotSource(Core& core) : ObjectSource(core) {}

  runtime::Ref<Cell> find(const std::string& id) const { return core_.registry->find_spot(id); }
  bool is_wanted(const PageWanted& wanted, Cell& cell) const {
    return has_type_and_mesh(wanted, cell.type().name, cell);
  }
  Row row_of(Cell& cell) const {
    return {.ref = cell.ref(),
            .type = cell.type().name,
            .is_entry_spot = cell.is_entry_spot(),
            .shares_gate = cell.shares_gate(),
            .state = cell.state,
            .members = cell.member_count.load(),
            .transitions = cell.transitions,
            .mailbox = row_of_mailbox(cell.mailbox(), core_.now())};
  }
};

class Census final : public std::enable_shared_from_this<Census> {
 public:
  Census(Core& core, std::function<void(std::vector<CensusRow>)> done)
      : core_(core), done_(std::move(done)) {}

  void go_on() {
    constexpr std::size_t objects_per_job = 4096;
    std::size_t seen = 0;
    for (; shard_ < Registry::shard_count; ++shard_) {
      if (seen >= objects_per_job) {
        return core_.strand.post([self = shared_from_this()] { self->go_on(); });
      }
      seen += look_at_shard();
    }
    std::vector<CensusRow> rows;
    rows.reserve(rows_.size());
    for (auto& [key, row] : rows_) rows.push_back(std::move(row));
    done_(std::move(rows));
  }

 private:
  // In the order of the answer. Views of names that live as long as the application.
  using Key = std::tuple<std::string_view, bool, std::string_view>;

  CensusRow& row_of(const MeshTypes& mesh, bool is_spot, const std::string& type) {
    const auto [row, is_new] = rows_.try_emplace(Key{mesh.name, is_spot, type});
    if (is_new) {
      row->second.mesh = mesh.name;
      row->second.type = type;
      row->second.is_spot = is_spot;
    }
    return row->second;
  }

  static void add_mailbox(CensusRow& row, const runtime::Mailbox& mailbox, Instant now) {
    const auto backlog = mailbox.backlog();
    ++row.objects;
    row.application_jobs += backlog.application;
    row.control_jobs += backlog.control;
    row.longest_application = std::max<std::uint64_t>(row.longest_application, backlog.application);
    const auto turn = mailbox.oldest_turn();
    if (!turn) return;
    ++row.running;
    row.oldest_turn = std::max(row.oldest_turn, now - turn->since);
  }

  std::size_t look_at_shard() {
    const Instant now = core_.now();
    std::size_t seen = 0;
    core_.registry->look_at(shard_, [&](ActorCell& actor) {
      ++seen;
      CensusRow& row = row_of(actor.mesh(), false, actor.type().name.text());
      add_mailbox(row, actor.mailbox(), now);
      if (actor.binding()) ++row.bound;
      if (actor.is_in_transition()) ++row.in_transition;
    });
    core_.registry->look_at(shard_, [&](SpotCell& spot) {
      ++seen;
      CensusRow& row = row_of(spot.mesh(), true, spot.type().name);
      add_mailbox(row, spot.mailbox(), now);
      row.in_transition += spot.transitions;
    });
    return seen;
  }

  Core& core_;
  const std::function<void(std::vector<CensusRow>)> done_;
  std::size_t shard_ = 0;
  std::map<Key, CensusRow> rows_;
};

}  // namespace

std::string_view name_of(location::HostState state) {
  using location::HostState;
  switch (state) {
    case HostState::Preparing:
      return "Preparing";
    case HostState::Serving:
      return "Serving";
    case HostState::Relocating:
      return "Relocating";
    case HostState::Relocated:
      return "Relocated";
    case HostState::Draining:
      return "Draining";
    case HostState::Stopped:
      return "Stopped";
    case HostState::Error:
      return "Error";
  }
  return "unknown";
}

void Inspection::ping(std::function<void()> done) const { core_.strand.post(std::move(done)); }

std::optional<std::string> Inspection::mesh_without_entry_spot() const {
  for (const auto& [mesh, spot] : core_.entry_spots) {
    if (!core_.ready_entry_spot(*mesh)) return mesh->name;
  }
  return std::nullopt;
}

void Inspection::actors(PageWanted wanted, std::function<void(Page<ActorRow>)> done) const {
  read_page(ActorSource(core_), core_.strand, std::move(wanted), std::move(done));
}

void Inspection::spots(PageWanted wanted, std::function<void(Page<SpotRow>)> done) const {
  read_page(SpotSource(core_), core_.strand, std::move(wanted), std::move(done));
}

void Inspection::nodes(std::function<void(std::vector<NodeRow>)> done) const {
  core_.strand.post([&core = core_, done = std::move(done)] {
    std::vector<NodeRow> rows;
    rows.push_back({describe(core), true, true});
    const auto reachable = core.directory->reachable();
    for (const auto* node : core.directory->known()) {
      const bool is_reachable = std::ranges::find(reachable, node) != reachable.end();
      rows.push_back({*node, false, is_reachable});
    }
    done(std::move(rows));
  });
}

void Inspection::census(std::function<void(std::vector<CensusRow>)> done) const {
  auto census = std::make_shared<Census>(core_, std::move(done));
  core_.strand.post([census] { census->go_on(); });
}

}  // namespace spotmesh::objects
