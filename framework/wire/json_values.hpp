// Single values of JSON by schema, and the path to them for messages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include <spotmesh/error.hpp>

#include "wire/packet_shape.hpp"

namespace spotmesh::wire {

// Where a conversion is: "payload.state.cells[3]".
class JsonPath {
 public:
  // Adds a step for as long as it lives.
  class Step {
   public:
    Step(JsonPath& path, std::string_view field) : path_(path) {
      path.steps_.push_back({field, 0});
    }
    Step(JsonPath& path, std::size_t index) : path_(path) { path.steps_.push_back({{}, index}); }
    ~Step() { path_.steps_.pop_back(); }
    Step(const Step&) = delete;
    Step& operator=(const Step&) = delete;

   private:
    JsonPath& path_;
  };

  std::string text() const;

 private:
  struct Entry {
    std::string_view field;  // empty for an index
    std::size_t index = 0;
  };
  std::vector<Entry> steps_;
};

// The scalar's bits: integers and enums sign-extended, reals as a double in 64 bits, booleans 0
// or 1.
struct ScalarBits {
  std::uint64_t value = 0;
};

// The error's message is what the value must be, without its path: "must be a whole number from 0
// to 255, not 256".
Result<ScalarBits> scalar_from_json(const ValueShape& shape, const nlohmann::json& value);

// InvalidOperation for what JSON cannot say, again without the path.
Result<void> append_scalar(std::string& out, const ValueShape& shape, ScalarBits bits);

// The default of a field, or the 0 of one without.
ScalarBits default_bits(const FieldShape& field);

// Scalars in FlatBuffers' bytes, at any address.
ScalarBits load_scalar(const std::uint8_t* address, reflection::BaseType type);
void store_scalar(std::uint8_t* address, reflection::BaseType type, ScalarBits bits);

}  // namespace spotmesh::wire
