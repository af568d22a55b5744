#include "testing/caller_end.hpp"

#include <exception>
#include <utility>

#include <spotmesh/testing/sim_caller.hpp>

#include "runtime/job.hpp"

namespace spotmesh::testing {

class CallerEnd::CallerContext final : public Context {
 public:
  explicit CallerContext(objects::Caller& caller) : Context(caller) {}
};

struct CallerEnd::Place final : runtime::RefCounted {
  explicit Place(SimNode& seams)
      : gate(runtime::make_ref<runtime::Gate>(seams.gate_environment())), mailbox(*this, *gate) {}
  runtime::Ref<runtime::Gate> gate;
  runtime::Mailbox mailbox;
};

class CallerEnd::CallJob final : public runtime::Job {
 public:
  CallJob(Context& context, std::function<Task<void>(Context&)> call,
          std::shared_ptr<std::size_t> unfinished)
      : context_(context), call_(std::move(call)), unfinished_(std::move(unfinished)) {
    ++*unfinished_;
  }
  ~CallJob() override { --*unfinished_; }
  Task<void> run(runtime::Turn&) override { return call_(context_); }
  void finished(runtime::Turn&, std::exception_ptr failure) override {
    if (failure != nullptr) std::terminate();
  }
  std::string_view what() const override { return "a call of a test"; }
  void refuse(const Error&) override {}

 private:
  Context& context_;
  const std::function<Task<void>(Context&)> call_;
  const std::shared_ptr<std::size_t> unfinished_;
};

CallerEnd::CallerEnd(SimNode& seams, node::Node& node, const SessionId& id)
    : place_(runtime::make_ref<Place>(seams)),
      caller_(node.objects().new_session_caller(id)),
      context_(std::make_unique<CallerContext>(*caller_)) {}

CallerEnd::~CallerEnd() { end(); }

void CallerEnd::run(std::function<Task<void>(Context&)> call) {
  if (is_gone()) return;
  // A full mailbox drops the job, which then was never begun.
  (void)place_->mailbox.push(runtime::Lane::Application,
                             std::make_unique<CallJob>(*context_, std::move(call), unfinished_));
}

bool CallerEnd::is_gone() const { return !place_; }

void CallerEnd::end() {
  if (is_gone()) return;
  place_->gate->abandon();
  place_ = {};
  context_.reset();
  caller_.reset();
}

SimCaller::SimCaller(std::shared_ptr<CallerEnd> end) : end_(std::move(end)) {}
void SimCaller::run(std::function<Task<void>(Context&)> call) { end_->run(std::move(call)); }
std::size_t SimCaller::unfinished() const { return end_->unfinished(); }
bool SimCaller::is_gone() const { return end_->is_gone(); }

}  // namespace spotmesh::testing
