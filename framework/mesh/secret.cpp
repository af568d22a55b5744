#include "mesh/secret.hpp"

#include <cassert>
#include <new>
#include <string_view>

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

namespace spotmesh::mesh {

Secret::Secret(std::string text) : text_(std::move(text)) { assert(!text_.empty()); }

wire::MeshProof Secret::prove(HandshakeSide side, ByteView hello, ByteView challenge,
                              ByteView response) const {
  // Each part with its length, so that no two transcripts have the same bytes.
  Bytes said = to_bytes(side == HandshakeSide::Dialler ? "spotmesh mesh dialler "
                                                       : "spotmesh mesh listener");
  for (const ByteView part : {hello, challenge, response}) {
    for (unsigned shift = 0; shift < 32; shift += 8) {
      said.push_back(std::byte(part.size() >> shift & 0xff));
    }
    said.insert(said.end(), part.begin(), part.end());
  }
  wire::MeshProof proof{};
  unsigned size = 0;
  const unsigned char* made = HMAC(EVP_sha256(), text_.data(), static_cast<int>(text_.size()),
                                   reinterpret_cast<const unsigned char*>(said.data()), said.size(),
                                   reinterpret_cast<unsigned char*>(proof.data()), &size);
  // All that can be missing is memory.
  if (made == nullptr || size != proof.size()) throw std::bad_alloc();
  return proof;
}

bool Secret::is_same(const wire::MeshProof& a, const wire::MeshProof& b) {
  return CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace spotmesh::mesh
