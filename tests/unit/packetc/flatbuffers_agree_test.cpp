#include <flatbuffers/idl.h>
#include <flatbuffers/util.h>

#include <catch2/catch.hpp>
#include <random>
#include <string>

#include "unit/packetc/zoo/values.hpp"
#include "zoo.packets.hpp"

namespace {

using spotmesh::Bytes;
using spotmesh::PacketTraits;

// FlatBuffers' own reader and writer of the zoo schema.
class Peer {
 public:
  Peer() : parser_(options()) {
    const std::string file = std::string(ZOO_SCHEMA_DIRECTORY) + "/zoo.fbs";
    std::string text;
    REQUIRE(flatbuffers::LoadFile(file.c_str(), false, &text));
    const char* no_directories[] = {nullptr};  // beside the file is enough
    if (!parser_.Parse(text.c_str(), no_directories, file.c_str())) FAIL(parser_.error_);
  }

  template <typename T>
  std::string read(const Bytes& bytes) {
    set_root<T>();
    std::string text;
    REQUIRE(flatbuffers::GenerateText(parser_, bytes.data(), &text));
    return text;
  }

  template <typename T>
  Bytes write(const std::string& text) {
    set_root<T>();
    if (!parser_.ParseJson(text.c_str())) FAIL(parser_.error_ << " in " << text);
    const auto* first = reinterpret_cast<const std::byte*>(parser_.builder_.GetBufferPointer());
    return {first, first + parser_.builder_.GetSize()};
  }

 private:
  template <typename T>
  void set_root() {
    const std::string name(PacketTraits<T>::descriptor().name);
    REQUIRE(parser_.SetRootType(name.c_str()));
  }

  static flatbuffers::IDLOptions options() {
    flatbuffers::IDLOptions options;
    options.strict_json = true;
    options.no_warnings = true;
    options.lang_to_generate = flatbuffers::IDLOptions::kCpp;
    return options;
  }

  flatbuffers::Parser parser_;
};

// FlatBuffers reads our bytes to text and writes bytes of its own; we read those.
template <typename T>
T there_and_back(Peer& peer, const T& packet) {
  const auto text = peer.read<T>(PacketTraits<T>::encode(packet));
  auto decoded = PacketTraits<T>::decode(peer.write<T>(text));
  REQUIRE(decoded.has_value());
  return *decoded;
}

template <typename T>
void check_agreement(Peer& peer, const T& packet) {
  REQUIRE(there_and_back(peer, packet) == packet);
}

// FlatBuffers' text rounds reals, so random ones are compared as it shows them.
template <typename T>
void check_agreement_of_text(Peer& peer, const T& packet) {
  const auto back = there_and_back(peer, packet);
  REQUIRE(peer.read<T>(PacketTraits<T>::encode(back)) ==
          peer.read<T>(PacketTraits<T>::encode(packet)));
}

}  // namespace

TEST_CASE("FlatBuffers reads what generated code writes, and the other way", "[packetc]") {
  Peer peer;
  check_agreement(peer, zoo::Everything{});
  check_agreement(peer, zoo::some_everything());
  check_agreement(peer, zoo::some_required());
  check_agreement(peer, zoo::some_tree());
  std::mt19937_64 random(11);
  for (int round = 0; round < 200; ++round) {
    check_agreement_of_text(peer, zoo::random_everything(random));
    check_agreement_of_text(peer, zoo::random_required(random));
    check_agreement_of_text(peer, zoo::random_tree(random, 3));
  }
}
