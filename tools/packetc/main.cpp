#include <exception>
#include <iostream>

#include "packetc/command.hpp"

int main(int argc, char** argv) {
  try {
    return spotmesh::packetc::run({argv + 1, argv + argc}, std::cout, std::cerr);
  } catch (const std::exception& error) {
    std::cerr << "spotmesh-packetc: " << error.what() << '\n';
    return 1;
  }
}
