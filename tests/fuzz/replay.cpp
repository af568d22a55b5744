// The main of a fuzz target where libFuzzer is not linked: runs it on every file of the directories
// it is given.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "fuzz/fuzz.hpp"

namespace {

std::vector<std::filesystem::path> files_of(const char* directory) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    if (entry.is_regular_file()) files.push_back(entry.path());
  }
  std::ranges::sort(files);
  return files;
}

std::string content_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

int main(int count, char** arguments) {
  std::size_t files = 0;
  for (int i = 1; i < count; ++i) {
    for (const auto& path : files_of(arguments[i])) {
      // Named before it runs: whatever ends the process, the last line tells by which input.
      std::printf("%s\n", path.c_str());
      std::fflush(stdout);
      spotmesh::fuzz::run(spotmesh::as_bytes(content_of(path)));
      ++files;
    }
  }
  std::printf("%zu inputs\n", files);
  return files > 0 ? 0 : 1;
}
