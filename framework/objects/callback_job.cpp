#include "objects/callback_job.hpp"

#include <memory>
#include <string>
#include <utility>

#include "objects/actor_cell.hpp"
#include "objects/core.hpp"
#include "objects/spot_cell.hpp"
#include "objects/strand_link.hpp"

namespace spotmesh::objects {
namespace {

class CallbackJob final : public runtime::Job {
 public:
  CallbackJob(Core& core, const CallbackSpec& spec, std::function<Task<void>()> body,
              std::function<void(std::optional<Error>)> done)
      : core_(core),
        link_(core.link),
        what_(spec.what),
        actor_(spec.actor),
        spot_(spec.spot),
        body_(std::move(body)),
        done_(std::move(done)) {}
  // With an abandoned gate, or the turn of an abandoned mailbox, maybe after the node's end.
  ~CallbackJob() override {
    if (!done_) return;
    link_->post(
        [done = std::move(done_),
         error = Error::unavailable(std::string(what_) + ": what ran it has ended before it did")](
            Core&) { done(error); });
  }

  Task<void> run(runtime::Turn& turn) override {
    turn.set_scope(std::make_unique<ObjectScope>(ObjectScope::Kind::Lifecycle, what_, actor_.get(),
                                                 spot_.get()));
    return body_();
  }

  void finished(runtime::Turn& turn, std::exception_ptr failure) override {
    static_cast<ObjectScope*>(turn.scope())->end(failure == nullptr);
    if (failure == nullptr) return post({});
    Error error = error_of(std::move(failure), what_);
    core_.metrics.callback_throws.add();
    std::vector<LogField> fields;
    if (actor_) fields.push_back({"actor", actor_->id().text()});
    if (spot_) fields.push_back({"spot", spot_->id().text()});
    core_.log(LogLevel::Error, error.message(), std::move(fields));
    post(std::move(error));
  }

  std::string_view what() const override { return what_; }
  void refuse(const Error& error) override { post(error); }

 private:
  void post(std::optional<Error> error) {
    core_.strand.post(
        [done = std::exchange(done_, nullptr), error = std::move(error)] { done(error); });
  }

  Core& core_;
  const std::shared_ptr<StrandLink> link_;
  std::string_view what_;
  runtime::Ref<ActorCell> actor_;
  runtime::Ref<SpotCell> spot_;
  std::function<Task<void>()> body_;
  std::function<void(std::optional<Error>)> done_;
};

}  // namespace

void push_callback(Core& core, runtime::Mailbox& mailbox, const CallbackSpec& spec,
                   std::function<Task<void>()> body,
                   std::function<void(std::optional<Error>)> done) {
  std::unique_ptr<runtime::Job> job =
      std::make_unique<CallbackJob>(core, spec, std::move(body), std::move(done));
  const auto pushed = mailbox.try_push(runtime::Lane::Control, job);
  // One that the mailbox has taken and dropped has told of it by itself.
  if (!pushed && job != nullptr) job->refuse(pushed.error());
}

}  // namespace spotmesh::objects
