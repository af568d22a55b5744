// The fingerprint of a schema: what two programs that were built with different versions of it must
// agree on to understand each other's packets, type by type and line by line (schemas/STREAM.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <spotmesh/error.hpp>

namespace spotmesh::wire {

struct EnumShape;
struct FieldShape;
struct ObjectShape;

// The lines of one type, hashed. The first says what kind of type it is; line 1 + n is about the
// field in slot n of a table, the n-th field of a structure, or the value n of an enum, a flag or a
// union. 0: nothing is said of it.
struct TypePrint {
  std::string name;
  std::vector<std::uint32_t> lines;
  friend bool operator==(const TypePrint&, const TypePrint&) = default;
};

// FNV-1a of 32 bits, 1 where that is 0.
std::uint32_t line_hash(std::string_view line);

// What this program was built with. Filled once, then read from any thread.
class SchemaPrints {
 public:
  // Adds the type and every one that its fields lead to. The first of a name counts.
  void add(const ObjectShape& object);

  std::size_t size() const { return types_.size(); }
  // The lines of a type as text; empty for a type that is not here.
  std::span<const std::string> lines_of(std::string_view type) const;
  std::vector<TypePrint> prints() const;

  // Whether packets of a program with these prints can be read here, and the reverse. Types and
  // lines that only one side knows fit: fields may be added at the end of a table, values to an
  // enum, alternatives to a union. ProtocolError names the first type and line that do not fit, in
  // words that can be the reason of a close.
  Result<void> check(const std::vector<TypePrint>& others) const;

 private:
  struct Type {
    std::vector<std::string> lines;  // empty: nothing is said
    std::vector<std::uint32_t> hashes;
  };

  void add(const EnumShape& choices);
  void add_types_of(const FieldShape& field);
  Result<void> check_type(const TypePrint& other) const;

  std::map<std::string, Type, std::less<>> types_;
};

}  // namespace spotmesh::wire
