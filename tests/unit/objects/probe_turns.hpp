// Turns of nobody in particular, from which tests call as a session does.
#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include <spotmesh/context.hpp>

#include "objects/caller.hpp"
#include "runtime/job.hpp"
#include "runtime/mailbox.hpp"
#include "testing/sim_node.hpp"

namespace spotmesh::objects {

// The context of nobody in particular: a caller with a gate of its own, as a session is one.
class ProbeContext final : public Context {
 public:
  explicit ProbeContext(Caller& caller) : Context(caller) {}
};

struct Probe final : runtime::RefCounted {
  explicit Probe(testing::SimNode& sim)
      : gate(runtime::make_ref<runtime::Gate>(sim.gate_environment())), mailbox(*this, *gate) {}
  runtime::Ref<runtime::Gate> gate;
  runtime::Mailbox mailbox;
};

template <typename T>
class ProbeJob final : public runtime::Job {
 public:
  ProbeJob(Context& context, std::function<Task<T>(Context&)> call,
           std::shared_ptr<std::optional<T>> outcome)
      : context_(context), call_(std::move(call)), outcome_(std::move(outcome)) {}
  Task<void> run(runtime::Turn&) override { return drive(call_(context_), outcome_); }
  void finished(runtime::Turn&, std::exception_ptr failure) override {
    if (failure != nullptr) std::rethrow_exception(failure);
  }
  void refuse(const Error&) override {}

 private:
  static Task<void> drive(Task<T> task, std::shared_ptr<std::optional<T>> outcome) {
    outcome->emplace(co_await std::move(task));
  }
  Context& context_;
  std::function<Task<T>(Context&)> call_;
  std::shared_ptr<std::optional<T>> outcome_;
};

}  // namespace spotmesh::objects
