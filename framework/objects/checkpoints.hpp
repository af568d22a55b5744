// Checkpoints: puts the state of Actors down in the store, for whoever takes over.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <spotmesh/bytes.hpp>
#include <spotmesh/error.hpp>

#include "location/settle.hpp"
#include "objects/actor_cell.hpp"
#include "objects/store_port.hpp"

namespace spotmesh::objects {

class Core;

// What a new incarnation starts with.
struct RestoredState {
  std::optional<Bytes> state;  // empty: there is no checkpoint of this type
  std::optional<location::StoreVersion> version;
  std::uint64_t sequence = 0;
};

// One capture and one commit per Actor at a time; a commit only when the state has changed. Strand
// only.
class Checkpoints {
 public:
  explicit Checkpoints(Core& core);
  ~Checkpoints();

  // Reads what the last incarnation has left. Unavailable, or DataLost when it does not parse.
  void read(const ActorId& id, const ActorType& type,
            std::function<void(Result<RestoredState>)> done);
  // The Actor is Ready; its state is what was restored, if anything was.
  void begin(const runtime::Ref<ActorCell>& actor, RestoredState restored);
  // Between two turns, as soon as may be.
  void request(const ActorCell& actor);
  // No checkpoint of it is begun any more. The keys that its end deletes with its record.
  std::vector<std::string> end(const ActorCell& actor);
  void stop();

 private:
  struct Entry;

  void start(const std::shared_ptr<Entry>& entry);
  void on_captured(const std::shared_ptr<Entry>& entry, Bytes state,
                   const std::optional<Error>& error);
  void read_version(const std::shared_ptr<Entry>& entry);
  void write(const std::shared_ptr<Entry>& entry, Bytes state);
  void on_settled(const std::shared_ptr<Entry>& entry, Bytes state,
                  const location::SettleOutcome& outcome);
  void finish(const std::shared_ptr<Entry>& entry);
  void failed(const Entry& entry, const std::string& why);
  Instant next_time(const Entry& entry) const;

  Core& core_;
  std::map<const ActorCell*, std::shared_ptr<Entry>> entries_;
};

}  // namespace spotmesh::objects
