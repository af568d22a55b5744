#include <csignal>
#include <cstdlib>
#include <exception>
#include <iostream>

#include "cli/command.hpp"

int main(int argc, char** argv) {
  // A reader of the output that goes away ends the output, and with it the command.
  std::signal(SIGPIPE, SIG_IGN);
  try {
    return spotmesh::cli::run({argv + 1, argv + argc}, std::getenv, std::cout, std::cerr);
  } catch (const std::exception& error) {
    std::cerr << "spotmesh: " << error.what() << '\n';
    return 1;
  }
}
