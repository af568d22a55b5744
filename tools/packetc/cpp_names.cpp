#include "packetc/cpp_names.hpp"

#include <algorithm>
#include <array>

namespace spotmesh::packetc {
namespace {

constexpr auto reserved =
    std::to_array<std::string_view>({"alignas",       "alignof",     "and",
                                     "and_eq",        "asm",         "auto",
                                     "bitand",        "bitor",       "bool",
                                     "break",         "case",        "catch",
                                     "char",          "char16_t",    "char32_t",
                                     "char8_t",       "class",       "co_await",
                                     "co_return",     "co_yield",    "compl",
                                     "concept",       "const",       "const_cast",
                                     "consteval",     "constexpr",   "constinit",
                                     "continue",      "decltype",    "default",
                                     "delete",        "do",          "double",
                                     "dynamic_cast",  "else",        "enum",
                                     "explicit",      "export",      "extern",
                                     "false",         "float",       "for",
                                     "friend",        "goto",        "if",
                                     "inline",        "int",         "long",
                                     "mutable",       "namespace",   "new",
                                     "noexcept",      "not",         "not_eq",
                                     "nullptr",       "operator",    "or",
                                     "or_eq",         "private",     "protected",
                                     "public",        "register",    "reinterpret_cast",
                                     "requires",      "return",      "short",
                                     "signed",        "sizeof",      "static",
                                     "static_assert", "static_cast", "struct",
                                     "switch",        "template",    "this",
                                     "thread_local",  "throw",       "true",
                                     "try",           "typedef",     "typeid",
                                     "typename",      "union",       "unsigned",
                                     "using",         "virtual",     "void",
                                     "volatile",      "wchar_t",     "while",
                                     "xor",           "xor_eq"});

}  // namespace

std::string cpp_identifier(std::string_view name) {
  std::string result(name);
  if (std::ranges::find(reserved, name) != reserved.end()) result += '_';
  return result;
}

std::string cpp_namespace(const flatbuffers::Namespace& name_space) {
  std::string result;
  for (const auto& component : name_space.components) {
    if (!result.empty()) result += "::";
    result += cpp_identifier(component);
  }
  return result;
}

std::string cpp_qualified(const flatbuffers::Definition& definition) {
  const auto name_space = cpp_namespace(*definition.defined_namespace);
  return "::" + (name_space.empty() ? "" : name_space + "::") + cpp_identifier(definition.name);
}

std::string cpp_word(const flatbuffers::Definition& definition) {
  std::string result;
  for (const auto& component : definition.defined_namespace->components) result += component + "_";
  return result + definition.name;
}

}  // namespace spotmesh::packetc
