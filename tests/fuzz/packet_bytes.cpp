// Packets from hostile bytes: what verify() lets through can be decoded, viewed and shown as JSON;
// decoded values survive being written.
#include <spotmesh/limits.hpp>
#include <stdexcept>
#include <string>

#include "fuzz/fuzz.hpp"
#include "odd.packets.hpp"
#include "wire/json_by_schema.hpp"
#include "zoo.packets.hpp"
#include "zoo.views.hpp"

namespace spotmesh::fuzz {
namespace {

// Reads every byte that a view gives out.
class Reader {
 public:
  void take(std::string_view text) {
    for (const char c : text) sum_ += static_cast<unsigned char>(c);
  }
  template <typename T>
  void take_all(const T& values) {
    for (const auto& value : values) take_value(value);
  }
  void take_value(std::string_view text) { take(text); }
  void take_value(const zoo::common::Point& point) { sum_ += static_cast<unsigned>(point.x); }
  void take_value(const zoo::Cage& cage) { sum_ += cage.id; }
  void take_value(const zoo::common::LabelView& label) { take(label.text()); }
  void take_value(const zoo::TreeView& tree) {
    take(tree.name());
    if (tree.left()) take_value(*tree.left());
    if (tree.right()) take_value(*tree.right());
    take_all(tree.children());
    if (tree.animal_as_Fish()) take(tree.animal_as_Fish()->name());
    if (tree.animal_as_Lion() && tree.animal_as_Lion()->den()) {
      take_value(*tree.animal_as_Lion()->den());
    }
    if (tree.animal_as_note()) take(*tree.animal_as_note());
  }
  template <typename T>
    requires std::is_arithmetic_v<T> || std::is_enum_v<T>
  void take_value(T value) {
    sum_ += static_cast<std::uint64_t>(value != T{});
  }
  std::uint64_t sum() const { return sum_; }

 private:
  std::uint64_t sum_ = 0;
};

void read(const zoo::TreeView& tree) { Reader().take_value(tree); }

void read(const zoo::EverythingView& view) {
  Reader reader;
  reader.take(view.text());
  reader.take_value(view.flag());
  if (view.maybe_big()) reader.take_value(*view.maybe_big());
  if (view.tree()) reader.take_value(*view.tree());
  if (view.cage()) reader.take_value(*view.cage());
  if (view.animal_as_note()) reader.take(*view.animal_as_note());
  reader.take_all(view.flags());
  reader.take_all(view.bigs());
  reader.take_all(view.precises());
  reader.take_all(view.power_sets());
  reader.take_all(view.texts());
  reader.take_all(view.places());
  reader.take_all(view.cages());
  reader.take_all(view.labels());
  for (std::size_t i = 0; i < view.animals_size(); ++i) {
    if (view.animals_as_note(i)) reader.take(*view.animals_as_note(i));
    if (view.animals_as_Fish(i)) reader.take(view.animals_as_Fish(i)->name());
  }
}

// Nothing for a value that cannot be written: an alternative that this schema does not know decodes
// to none, and a vector has no place for it.
template <typename T>
std::optional<Bytes> written(const T& packet) {
  try {
    return PacketTraits<T>::encode(packet);
  } catch (const std::logic_error&) {
    return std::nullopt;
  }
}

template <typename T>
void check_json(const Bytes& bytes, const std::optional<Bytes>& by_generated_code) {
  static const wire::PacketCatalog catalog = [] {
    wire::PacketCatalog known;
    known.add(zoo::packets());
    known.add(packets());
    return known;
  }();
  const auto& packet = *catalog.find(PacketTraits<T>::descriptor().name);
  const auto json = wire::packet_to_json(packet, bytes);
  if (!json) {
    require(json.error().kind() == ErrorKind::InvalidOperation ||
                json.error().kind() == ErrorKind::CapacityExceeded,
            "sound bytes are not called unsound");
    return;
  }
  // A table in a union in a vector is three levels of JSON.
  const auto again = wire::json_text_to_packet(packet, *json, {.max_depth = 128});
  require(again.has_value(), "the JSON of sound bytes is accepted");
  require(by_generated_code.has_value() && *again == *by_generated_code,
          "JSON and generated code make the same bytes");
}

template <typename T>
void check(const Bytes& bytes) {
  const bool is_sound = PacketTraits<T>::descriptor().verify(bytes);
  const auto packet = PacketTraits<T>::decode(bytes);
  require(packet.has_value() == is_sound, "what is sound can be decoded, and nothing else");
  if constexpr (std::is_same_v<T, zoo::Everything> || std::is_same_v<T, zoo::Tree>) {
    using View =
        std::conditional_t<std::is_same_v<T, zoo::Tree>, zoo::TreeView, zoo::EverythingView>;
    const auto view = View::of(bytes);
    require(view.has_value() == is_sound, "what is sound can be viewed, and nothing else");
    if (view) read(*view);
  }
  if (!packet) return;
  const auto first = written(*packet);
  if (first) {
    const auto again = PacketTraits<T>::decode(*first);
    require(again.has_value() && written(*again) == first, "a value survives being written");
  }
  check_json<T>(bytes, first);
}

}  // namespace

void run(ByteView bytes) {
  Input input(bytes);
  const auto choice = input.take_byte();
  const Bytes packet = input.rest();
  switch (choice % 6) {
    case 0:
      return check<zoo::Everything>(packet);
    case 1:
      return check<zoo::Required>(packet);
    case 2:
      return check<zoo::Tree>(packet);
    case 3:
      return check<zoo::Holder>(packet);
    case 4:
      return check<OddLoop>(packet);
    default:
      return check<Odd>(packet);
  }
}

}  // namespace spotmesh::fuzz
