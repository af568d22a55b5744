#include "packetc/cpp_order.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <set>

#include "packetc/source_text.hpp"

namespace spotmesh::packetc {
namespace {

using flatbuffers::Definition;
using flatbuffers::EnumDef;
using flatbuffers::FieldDef;
using flatbuffers::StructDef;

// A table, struct or union.
struct Node {
  const StructDef* object = nullptr;
  const EnumDef* choice = nullptr;

  const Definition* id() const {
    return object != nullptr ? static_cast<const Definition*>(object) : choice;
  }
};

// The type that a member holds without a vector in between; an empty node for scalars and strings.
Node held_type(const FieldDef& field) {
  const auto& type = field.value.type;
  if (field.deprecated) return {};
  if (type.base_type == flatbuffers::BASE_TYPE_STRUCT) return {type.struct_def, nullptr};
  if (type.base_type == flatbuffers::BASE_TYPE_ARRAY) return {type.struct_def, nullptr};
  if (type.base_type == flatbuffers::BASE_TYPE_UNION) return {nullptr, type.enum_def};
  return {};
}

// Only the schema's own types count: included ones are complete before this schema begins.
std::vector<Node> held_types(const Node& node, const Schema& schema) {
  std::vector<Node> held;
  if (node.object != nullptr) {
    for (const auto* field : node.object->fields.vec) held.push_back(held_type(*field));
  } else {
    for (const auto* value : node.choice->Vals())
      held.push_back({value->union_type.struct_def, nullptr});
  }
  std::erase_if(
      held, [&](const Node& type) { return type.id() == nullptr || !schema.is_own(*type.id()); });
  return held;
}

// Tarjan's strongly connected components.
class Circles {
 public:
  Circles(const Schema& schema, std::map<const Definition*, int>& numbers)
      : schema_(schema), numbers_(numbers) {}

  void visit(const Node& node) {
    const auto* id = node.id();
    if (depths_.contains(id)) return;
    const int depth = static_cast<int>(depths_.size());
    depths_[id] = depth;
    lowest_[id] = depth;
    path_.push_back(id);
    for (const auto& held : held_types(node, schema_)) {
      visit(held);
      if (!numbers_.contains(held.id())) lowest_[id] = std::min(lowest_[id], lowest_[held.id()]);
    }
    if (lowest_[id] != depth) return;
    const Definition* last = nullptr;
    do {
      last = path_.back();
      path_.pop_back();
      numbers_[last] = count_;
    } while (last != id);
    ++count_;
  }

 private:
  const Schema& schema_;
  std::map<const Definition*, int>& numbers_;
  std::map<const Definition*, int> depths_;
  std::map<const Definition*, int> lowest_;
  std::vector<const Definition*> path_;
  int count_ = 0;
};

}  // namespace

CppOrder::CppOrder(const Schema& schema) {
  Circles circles(schema, circles_);
  for (const auto* object : schema.objects) circles.visit({object, nullptr});
  for (const auto* choice : schema.enums) {
    if (choice->is_union) circles.visit({nullptr, choice});
  }

  std::set<const Definition*> done;
  const std::function<void(const Node&)> place = [&](const Node& node) {
    if (!done.insert(node.id()).second) return;
    const auto is_apart = [&](const Node& held) {
      return circles_.at(held.id()) != circles_.at(node.id());
    };
    if (node.object == nullptr) {
      for (const auto& held : held_types(node, schema)) {
        if (is_apart(held)) place(held);
      }
      return;
    }
    for (const auto* field : node.object->fields.vec) {
      const auto held = held_type(*field);
      if (held.id() == nullptr || !schema.is_own(*held.id())) continue;
      // A union goes first even within a circle: the alternatives it shares with the circle are
      // boxed, the others are not.
      if (field->IsRequired() || is_apart(held) || held.choice != nullptr) place(held);
    }
    objects_.push_back(node.object);
  };
  for (const auto* object : schema.objects) place({object, nullptr});
}

bool CppOrder::is_boxed(const Definition& holder, const StructDef& held) const {
  const auto holder_circle = circles_.find(&holder);
  const auto held_circle = circles_.find(&held);
  return holder_circle != circles_.end() && held_circle != circles_.end() &&
         holder_circle->second == held_circle->second;
}

Checked<void> check_order(const Schema& schema) {
  std::set<const StructDef*> finished;
  std::set<const StructDef*> open;
  const std::function<Checked<void>(const StructDef&)> visit =
      [&](const StructDef& object) -> Checked<void> {
    if (finished.contains(&object)) return {};
    if (!open.insert(&object).second) {
      return refuse(at_declaration(
          object.file, object.name, "",
          fmt::format("{} requires itself, directly or by way of other tables, so no value of it "
                      "could end; make one of the members optional",
                      object.name)));
    }
    for (const auto* field : object.fields.vec) {
      const auto& type = field->value.type;
      if (field->deprecated || !field->IsRequired() ||
          type.base_type != flatbuffers::BASE_TYPE_STRUCT || !schema.is_own(*type.struct_def)) {
        continue;
      }
      if (auto visited = visit(*type.struct_def); !visited) return visited;
    }
    open.erase(&object);
    finished.insert(&object);
    return {};
  };
  for (const auto* object : schema.objects) {
    if (auto visited = visit(*object); !visited) return visited;
  }
  return {};
}

}  // namespace spotmesh::packetc
