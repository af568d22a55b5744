// JSON by schema: what is accepted becomes sound bytes, the same that generated code makes, and
// comes back as JSON that becomes the same bytes.
#include <string>

#include "fuzz/fuzz.hpp"
#include "odd.packets.hpp"
#include "wire/json_by_schema.hpp"
#include "zoo.packets.hpp"

namespace spotmesh::fuzz {
namespace {

using Bytes = spotmesh::Bytes;

template <typename T>
Bytes by_generated_code(const Bytes& bytes) {
  const auto packet = PacketTraits<T>::decode(bytes);
  require(packet.has_value(), "generated code reads what JSON became");
  return PacketTraits<T>::encode(*packet);
}

struct Target {
  const wire::CatalogPacket* packet;
  Bytes (*by_generated_code)(const Bytes&);
};

class Catalog {
 public:
  Catalog() {
    catalog_.add(zoo::packets());
    catalog_.add(packets());
  }
  template <typename T>
  Target target() const {
    return {catalog_.find(PacketTraits<T>::descriptor().name), &by_generated_code<T>};
  }

 private:
  wire::PacketCatalog catalog_;
};

Target target_of(std::uint8_t choice) {
  static const Catalog catalog;
  switch (choice % 8) {
    case 0:
      return catalog.target<zoo::Everything>();
    case 1:
      return catalog.target<zoo::Required>();
    case 2:
      return catalog.target<zoo::Tree>();
    case 3:
      return catalog.target<zoo::class_>();
    case 4:
      return catalog.target<zoo::Fish>();
    case 5:
      return catalog.target<zoo::back::Visit>();
    case 6:
      return catalog.target<OddLoop>();
    default:
      return catalog.target<Odd>();
  }
}

}  // namespace

void run(ByteView bytes) {
  Input input(bytes);
  const Target target = target_of(input.take_byte());
  const auto packet = wire::json_text_to_packet(*target.packet, input.rest_text());
  if (!packet) {
    require(packet.error().kind() == ErrorKind::ProtocolError, "a refusal is a ProtocolError");
    return;
  }
  require(target.packet->descriptor->verify(*packet), "what JSON becomes is sound");
  require(target.by_generated_code(*packet) == *packet, "generated code makes the same bytes");
  const auto json = wire::packet_to_json(*target.packet, *packet);
  if (!json) {
    // zoo.Odd has defaults of NaN and infinity, which JSON cannot say.
    require(json.error().kind() == ErrorKind::InvalidOperation ||
                json.error().kind() == ErrorKind::CapacityExceeded,
            "a packet that came from JSON can be shown as JSON");
    return;
  }
  require(wire::json_text_to_packet(*target.packet, *json) == *packet,
          "a packet survives the way to JSON and back");
}

}  // namespace spotmesh::fuzz
