#include "location/keys.hpp"

#include <fmt/format.h>

#include "base/utf8.hpp"

namespace spotmesh::location::keys {
namespace {

std::string join(std::string_view prefix, std::string_view id) {
  std::string key;
  key.reserve(prefix.size() + id.size());
  key.append(prefix).append(id);
  return key;
}

}  // namespace

std::string lease(const OwnerId& owner) { return join(lease_prefix, owner.text()); }
std::string beat(const OwnerId& owner) { return join(beat_prefix, owner.text()); }
std::string lease_counter() { return join(all_prefix, "lease-counter"); }
std::string node(const NodeRid& rid) { return join(node_prefix, rid.text); }
std::string checkpoint(const ActorId& id) { return join(checkpoint_prefix, id.text()); }
std::string actor(const ActorId& id) { return join(actor_prefix, id.text()); }
std::string spot(const SpotId& id) { return join(spot_prefix, id.text()); }

std::string printable(std::string_view key) {
  const bool is_text = is_valid_utf8(key);
  std::string text;
  for (const char character : key) {
    const auto byte = static_cast<unsigned char>(character);
    const bool is_plain = byte >= 0x20 && byte != 0x7f && (byte < 0x80 || is_text);
    if (is_plain) {
      text += character;
    } else {
      text += fmt::format("\\x{:02x}", byte);
    }
  }
  return text;
}

}  // namespace spotmesh::location::keys
