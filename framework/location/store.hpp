// The LocationStore seam and provider SPI: small and opaque. Keys and values are bytes to a
// provider; what they mean (authority, leases, descriptors, terminal records) is decided above,
// once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <spotmesh/bytes.hpp>
#include <spotmesh/error.hpp>

namespace spotmesh::location {

// Names one uninterrupted memory of the store. A store that may have forgotten acknowledged writes
// (fail-over, restored file) shows another epoch.
struct StoreEpoch {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  friend bool operator==(const StoreEpoch&, const StoreEpoch&) = default;
};

// Issued by the provider; within one epoch it grows with each write of a key, deletion included,
// and never repeats. Compared for equality in a condition and by counter (same epoch) to tell which
// of two readings is newer.
struct StoreVersion {
  StoreEpoch epoch;
  std::uint64_t counter = 0;
  friend bool operator==(const StoreVersion&, const StoreVersion&) = default;
};

struct StoredValue {
  Bytes value;
  StoreVersion version;
};

// One consistent reading of several keys, in the order asked; an absent key is an empty optional.
struct ReadResult {
  StoreEpoch epoch;
  std::vector<std::optional<StoredValue>> values;
};

struct Condition {
  std::string key;
  std::optional<StoreVersion> version;  // empty: the key must be absent
};

struct Write {
  std::string key;
  std::optional<Bytes> value;  // empty: delete; deleting an absent key is fine
};

// All conditions hold and all writes are applied, or nothing is. `epoch`, when set, is a further
// condition: the store's present epoch. A key stands at most once among the conditions and at most
// once among the writes.
struct Commit {
  std::optional<StoreEpoch> epoch;
  std::vector<Condition> conditions;
  std::vector<Write> writes;
};

struct CommitResult {
  enum class Outcome {
    Ok,        // applied; `versions` has one per write, in order (for a delete: the version of the
               // deletion)
    Conflict,  // not applied: a condition was false; `failed_key` names the first (empty: the
               // epoch)
    Unavailable,  // not applied and never will be: the store could not be asked
    Unknown,    // applied or not; settled once a later operation of this process has been answered
    Malformed,  // not applied, and not if it were tried again: a fault of the program
  };
  Outcome outcome = Outcome::Unavailable;
  StoreEpoch epoch;                    // of Ok and Conflict
  std::vector<StoreVersion> versions;  // of Ok
  std::string failed_key;              // of Conflict
  std::string message;                 // of Unavailable, Unknown and Malformed, for people
};

struct ScanEntry {
  std::string key;
  StoredValue stored;
};

// A page in key order. `next` is empty at the end, and only there: a page of large values has fewer
// entries than were asked for. Every key present throughout the whole scan is seen at least once.
struct ScanPage {
  StoreEpoch epoch;
  std::vector<ScanEntry> entries;
  std::string next;
};

inline constexpr std::size_t max_store_key_bytes = 512;
inline constexpr std::size_t max_store_value_bytes = 4 * 1024 * 1024;
inline constexpr std::size_t max_keys_per_operation = 128;
inline constexpr std::size_t max_scan_page = 1000;
// A page takes no further entry once its values are as large as this.
inline constexpr std::size_t max_scan_page_bytes = 8 * 1024 * 1024;

using ReadCallback = std::function<void(Result<ReadResult>)>;
using CommitCallback = std::function<void(CommitResult)>;
using ScanCallback = std::function<void(Result<ScanPage>)>;
// A hint that the key may have changed; hints may be lost, repeated and late, and are never the
// truth.
using HintCallback = std::function<void(std::string_view key)>;

// Every operation is asynchronous; its callback runs exactly once, on any thread, never inside the
// call, and must only hand over. Operations of one process that are under way together may be
// executed in any order, except for the promise of CommitResult::Unknown. A malformed operation
// (see the faults below) is InvalidOperation, for a commit Malformed. A failed read or scan is
// Unavailable.
class LocationStore {
 public:
  virtual ~LocationStore() = default;
  virtual void read(std::vector<std::string> keys, ReadCallback done) = 0;
  virtual void commit(Commit commit, CommitCallback done) = 0;
  // Entries whose key starts with `prefix`, after `cursor` (empty: from the start), at most
  // `limit`.
  virtual void scan(std::string prefix, std::string cursor, std::size_t limit,
                    ScanCallback done) = 0;
  // Hints for keys with this prefix, until the store ends. Providers without hints never call it. A
  // provider that only knows that something changed passes the prefix itself.
  virtual void watch(std::string prefix, HintCallback hint) = 0;
  // "sqlite:cluster.db", for logs; never a secret.
  virtual std::string describe() const = 0;
};

// What is malformed in an operation, for people; empty: nothing. Every provider refuses by these:
// no keys or too many of them, an empty or too long key, a key twice, a value that is too long, a
// page of 0 entries or of more than max_scan_page.
std::string fault_of_read(const std::vector<std::string>& keys);
std::string fault_of_commit(const Commit& commit);
std::string fault_of_scan(std::string_view prefix, std::string_view cursor, std::size_t limit);

}  // namespace spotmesh::location
