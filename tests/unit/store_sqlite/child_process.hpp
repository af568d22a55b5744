// A second process, ended with its owner.
#pragma once

#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <string>
#include <vector>

extern char** environ;

namespace spotmesh::testing {

class ChildProcess {
 public:
  explicit ChildProcess(std::vector<std::string> words) {
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_addclose(&actions, ends[0]);
    posix_spawn_file_actions_addclose(&actions, ends[1]);
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    const int failed =
        posix_spawn(&pid_, arguments[0], &actions, nullptr, arguments.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    output_ = ends[0];
    REQUIRE(failed == 0);
  }
  ~ChildProcess() {
    kill_now();
    close(output_);
  }
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  // Waits for the next line; empty at the end of the output.
  std::string read_line() {
    std::string line;
    char character = 0;
    while (read(output_, &character, 1) == 1 && character != '\n') line += character;
    return line;
  }
  // Everything that is still to be read once the process has ended.
  std::vector<std::string> read_rest() {
    std::vector<std::string> lines;
    for (std::string line = read_line(); !line.empty(); line = read_line()) lines.push_back(line);
    return lines;
  }
  void kill_now() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    wait_for_exit();
  }
  // The exit code; -1 for a signal.
  int wait_for_exit() {
    int status = 0;
    waitpid(pid_, &status, 0);
    pid_ = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

 private:
  pid_t pid_ = 0;
  int output_ = -1;
};

}  // namespace spotmesh::testing
