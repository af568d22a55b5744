#include "packetc/packet_id.hpp"

#include <openssl/evp.h>

#include <array>
#include <stdexcept>

namespace spotmesh::packetc {

std::uint32_t packet_id(std::string_view full_name) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  if (EVP_Digest(full_name.data(), full_name.size(), digest.data(), &size, EVP_sha256(), nullptr) !=
          1 ||
      size != 32) {
    throw std::runtime_error("this machine's OpenSSL cannot compute SHA-256");
  }
  std::uint32_t id = 0;
  for (int index = 0; index < 4; ++index) id = (id << 8) | digest[index];
  return id;
}

}  // namespace spotmesh::packetc
