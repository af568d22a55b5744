// Vacancies: deletes the records that refused creations have left for their resends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "location/authority.hpp"
#include "location/settle.hpp"
#include "location/store.hpp"
#include "objects/store_port.hpp"

namespace spotmesh::objects {

class Core;

// So many records wait for their time; with more of them the oldest go before it.
inline constexpr std::size_t most_vacancies = 65'536;

// Whoever can make this node refuse creations would otherwise make the store grow for ever. What a
// node that ends still has to delete stays, until the id is looked up or created the next time. The
// table is in framework/docs/creation.md. Strand only.
class Vacancies {
 public:
  explicit Vacancies(Core& core);

  // To be deleted past its time, unless it is another record by then.
  void add(std::string key, const location::VacantRecord& record);
  // The same of one that was come across: only if it is past its time.
  void met(std::string key, const location::VacantRecord& record);
  // Nothing more is deleted.
  void stop();

  std::size_t size() const { return records_.size(); }

 private:
  // When it may go, and its place among those that may go then.
  using Turn = std::pair<Instant, std::uint64_t>;
  struct Record {
    std::string key;
    location::StoreVersion version;
  };
  using Batch = std::vector<std::pair<Turn, Record>>;

  void insert(Turn turn, Record record);
  bool is_due(Instant now) const;
  void look();
  Batch take_due(Instant now);
  void erase(Batch batch);
  // The store has forgotten since: their versions are other ones.
  void read_versions(Batch batch);
  void on_erased(Batch batch, const location::SettleOutcome& outcome);
  void go_on(Duration pause);

  Core& core_;
  StrandTimer timer_;
  std::map<Turn, Record> records_;
  std::unordered_map<std::string_view, Turn> turns_;  // its keys are those of records_
  std::uint64_t added_ = 0;
  bool is_busy_ = false;
  bool is_stopped_ = false;
};

}  // namespace spotmesh::objects
