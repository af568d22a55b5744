#include "host/own_answers.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <chrono>
#include <utility>
#include <vector>

#include <spotmesh/limits.hpp>

#include "host/actor_report.hpp"
#include "host/admin_json.hpp"
#include "host/duration_text.hpp"
#include "objects/core.hpp"
#include "objects/forced_end.hpp"
#include "objects/inspection.hpp"
#include "objects/store_port.hpp"

namespace spotmesh::host {
namespace {

using objects::InquiryAnswer;
using std::chrono::milliseconds;

constexpr milliseconds longest_stop_deadline = std::chrono::minutes(10);
constexpr milliseconds longest_wait = std::chrono::seconds(30);

objects::Inspection inspection_of(const node::Node& node) {
  return objects::Inspection(node.objects().core());
}

template <typename Row>
InquiryAnswer answer_of(const objects::Page<Row>& page) {
  InquiryAnswer answer;
  answer.rows.reserve(page.rows.size());
  for (const Row& row : page.rows) answer.rows.push_back(row_json(row));
  if (page.next) answer.next = cursor_text(*page.next);
  return answer;
}

Result<std::uint64_t> number_of(const AdminTarget& target, std::string_view name) {
  const auto given = target.query.find(name);
  std::uint64_t value = 0;
  if (given != target.query.end()) {
    const std::string& text = given->second;
    const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (fault == std::errc() && end == text.data() + text.size()) return value;
  }
  return fail(Error::invalid_operation(fmt::format("{} is a number of 64 bits", name)));
}

InquiryAnswer answer_of(const EventRing::Part& part) {
  return {part.rows, fmt::format("{}-{}", part.first, part.last)};
}

// Answers when there is an event, or when the time is over. Kept by what it waits for.
class EventWait final : public std::enable_shared_from_this<EventWait> {
 public:
  EventWait(objects::Core& core, EventRing& events, std::uint64_t after, OwnAnswers::Done done)
      : events_(events), after_(after), done_(std::move(done)), timer_(core, [this] { end(); }) {}

  // On the strand, as all of it.
  void begin(objects::Core& core, Instant until) {
    self_ = shared_from_this();
    timer_.arm(until);
    waiter_ = events_.when_after(after_, [link = core.link, self = weak_from_this()] {
      link->post([self](objects::Core&) {
        if (const auto waiting = self.lock()) waiting->end();
      });
    });
  }

 private:
  void end() {
    const auto self = std::exchange(self_, nullptr);
    if (!self) return;
    timer_.cancel();
    events_.forget(waiter_);
    done_(answer_of(events_.after(after_, OwnAnswers::events_most)));
  }

  EventRing& events_;
  const std::uint64_t after_;
  const OwnAnswers::Done done_;
  objects::StrandTimer timer_;
  std::uint64_t waiter_ = 0;
  std::shared_ptr<EventWait> self_;
};

}  // namespace

Result<std::optional<Duration>> stop_deadline(const AdminTarget& target) {
  const auto given = target.query.find("deadline");
  if (given == target.query.end()) return std::optional<Duration>();
  const auto parsed = parse_duration(given->second);
  if (!parsed || *parsed > longest_stop_deadline) {
    return fail(Error::invalid_operation(
        fmt::format("deadline is a duration such as \"30s\", of at most {}",
                    format_duration(longest_stop_deadline))));
  }
  return std::optional<Duration>(*parsed);
}

OwnAnswers::Serve OwnAnswers::route_of(const AdminTarget& target) {
  struct Route {
    std::string_view path;
    bool takes_id;
    Serve serve;
  };
  static constexpr std::array routes{
      Route{"/v1/self", false, &OwnAnswers::tell_self},
      Route{"/v1/actors", false, &OwnAnswers::tell_actors},
      Route{"/v1/spots", false, &OwnAnswers::tell_spots},
      Route{"/v1/sessions", false, &OwnAnswers::tell_sessions},
      Route{"/v1/queues", false, &OwnAnswers::tell_queues},
      Route{"/v1/events", false, &OwnAnswers::tell_events},
      Route{"/v1/why/actors", true, &OwnAnswers::tell_why},
      Route{"/v1/end/actors", true, &OwnAnswers::end_actor},
      Route{"/v1/shutdown", false, &OwnAnswers::shut_down},
  };
  for (const Route& route : routes) {
    if (is_path(target, route.path, route.takes_id)) return route.serve;
  }
  return nullptr;
}

void OwnAnswers::answer(const objects::Inquiry& inquiry, Instant deadline, Done done) {
  auto asked = std::make_shared<Asked>();
  asked->client = inquiry.client;
  asked->deadline = deadline;
  asked->done = std::move(done);
  auto target = parse_admin_target(inquiry.target);
  if (!target) return refuse(asked, target.error());
  asked->target = *std::move(target);
  const Serve serve = route_of(asked->target);
  if (serve == nullptr) {
    return refuse(asked, Error::not_found(fmt::format("node {} has nothing at this path",
                                                      seams_.node.identity().rid.text)));
  }
  (this->*serve)(asked);
}

void OwnAnswers::refuse(const AskedRef& asked, Error error) const {
  seams_.node.objects().core().strand.post(
      [asked, error = std::move(error)] { asked->done(fail(error)); });
}

void OwnAnswers::tell_self(const AskedRef& asked) {
  inspection_of(seams_.node).ping([asked, &node = seams_.node] {
    asked->done(InquiryAnswer{{self_json(node)}, {}});
  });
}

void OwnAnswers::tell_actors(const AskedRef& asked) {
  auto wanted = page_wanted(asked->target, PageOf::Actors);
  if (!wanted) return refuse(asked, wanted.error());
  inspection_of(seams_.node)
      .actors(*std::move(wanted), [asked](const objects::Page<objects::ActorRow>& page) {
        asked->done(answer_of(page));
      });
}

void OwnAnswers::tell_spots(const AskedRef& asked) {
  auto wanted = page_wanted(asked->target, PageOf::Spots);
  if (!wanted) return refuse(asked, wanted.error());
  inspection_of(seams_.node)
      .spots(*std::move(wanted), [asked](const objects::Page<objects::SpotRow>& page) {
        asked->done(answer_of(page));
      });
}

void OwnAnswers::tell_sessions(const AskedRef& asked) {
  auto wanted = page_wanted(asked->target, PageOf::Sessions);
  if (!wanted) return refuse(asked, wanted.error());
  const stream::StreamServer* stream = seams_.node.stream();
  const NodeRid& node = seams_.node.identity().rid;
  const auto done = [asked, &node](const objects::Page<stream::SessionRow>& page) {
    InquiryAnswer answer;
    for (const auto& row : page.rows) answer.rows.push_back(row_json(node, row));
    if (page.next) answer.next = cursor_text(*page.next);
    asked->done(std::move(answer));
  };
  if (stream != nullptr) return stream->inspect(*std::move(wanted), done);
  inspection_of(seams_.node).ping([done] { done({}); });
}

void OwnAnswers::tell_queues(const AskedRef& asked) {
  inspection_of(seams_.node).census([asked](const std::vector<objects::CensusRow>& census) {
    InquiryAnswer answer;
    for (const auto& row : census) answer.rows.push_back(row_json(row));
    asked->done(std::move(answer));
  });
}

// Without `after`, only the number of the last one; with it, those behind it, for which it waits as
// long as `wait` says.
void OwnAnswers::tell_events(const AskedRef& asked) {
  if (auto allowed = allow_parameters(asked->target, {"after", "wait"}); !allowed) {
    return refuse(asked, allowed.error());
  }
  objects::Core& core = seams_.node.objects().core();
  if (!asked->target.query.contains("after")) {
    return core.strand.post([asked, &events = seams_.events] {
      asked->done(InquiryAnswer{{}, fmt::format("0-{}", events.last())});
    });
  }
  const auto after = number_of(asked->target, "after");
  if (!after) return refuse(asked, after.error());
  Duration wait{};
  if (const auto given = asked->target.query.find("wait"); given != asked->target.query.end()) {
    const auto parsed = parse_duration(given->second);
    if (!parsed || *parsed > longest_wait) {
      return refuse(asked, Error::invalid_operation(
                               fmt::format("wait is a duration such as \"2s\", of at most {}",
                                           format_duration(longest_wait))));
    }
    wait = *parsed;
  }
  core.strand.post([&core, asked, after = *after, wait, &events = seams_.events] {
    auto waiting = std::make_shared<EventWait>(
        core, events, after,
        [asked](Result<InquiryAnswer> answer) { asked->done(std::move(answer)); });
    waiting->begin(core, core.now() + wait);
  });
}

void OwnAnswers::tell_why(const AskedRef& asked) {
  const auto id = ActorId::parse(asked->target.path.back());
  if (!id) return refuse(asked, id.error());
  report_actor(seams_.node.objects().core(), seams_.events, *id,
               [asked](Result<std::string> report) {
                 if (!report) return asked->done(fail(report.error()));
                 asked->done(InquiryAnswer{{*std::move(report)}, {}});
               });
}

void OwnAnswers::end_actor(const AskedRef& asked) {
  const auto id = ActorId::parse(asked->target.path.back());
  if (!id) return refuse(asked, id.error());
  seams_.log.write(LogLevel::Warning, "admin", "an Actor was told to end",
                   {{"client", asked->client}, {"actor", id->text()}});
  objects::Core& core = seams_.node.objects().core();
  core.strand.post([&core, id = *id, asked, &node = seams_.node] {
    objects::end_by_force(core, id, core.now() + limits::default_operation_timeout,
                          [asked, &node](Result<void> ended) {
                            if (!ended) return asked->done(fail(ended.error()));
                            asked->done(InquiryAnswer{{status_json(node, "ended")}, {}});
                          });
  });
}

void OwnAnswers::shut_down(const AskedRef& asked) {
  auto deadline = stop_deadline(asked->target);
  if (!deadline) return refuse(asked, deadline.error());
  seams_.log.write(LogLevel::Info, "admin", "the node was told to shut down",
                   {{"client", asked->client}});
  seams_.node.objects().core().strand.post([this, asked, deadline = *deadline] {
    // The answer first: the process may end at once.
    asked->done(InquiryAnswer{{status_json(seams_.node, "shutting down")}, {}});
    seams_.shut_down(deadline);
  });
}

}  // namespace spotmesh::host
