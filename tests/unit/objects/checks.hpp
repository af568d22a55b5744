// What several tests of objects need.
#pragma once

#include <catch2/catch.hpp>
#include <string_view>

#include <spotmesh/error.hpp>
#include <spotmesh/task.hpp>

#include "runtime/completion.hpp"

namespace spotmesh::objects {

template <typename T>
void check_error(const Result<T>& result, ErrorKind kind, std::string_view part = {}) {
  REQUIRE_FALSE(result.has_value());
  INFO(to_string(result.error()));
  CHECK(result.error().kind() == kind);
  CHECK(result.error().message().find(part) != std::string::npos);
}

// A task that ends only when the test says so.
class Latch {
 public:
  Task<void> wait() { co_await completion_->wait(); }
  void open() { completion_->complete(true); }

 private:
  runtime::Ref<runtime::Completion<bool>> completion_ = runtime::make_completion<bool>();
};

}  // namespace spotmesh::objects
