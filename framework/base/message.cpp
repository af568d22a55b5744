#include <spotmesh/message.hpp>

namespace spotmesh {

Error Message::wrong_packet(std::string_view wanted) const {
  if (is_empty()) {
    return Error::protocol_error("the message is empty where packet " + std::string(wanted) +
                                 " was expected");
  }
  return Error::protocol_error("the message holds packet " + std::string(packet_name()) +
                               " where " + std::string(wanted) + " was expected");
}

}  // namespace spotmesh
