#include "host/event_socket.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <utility>

#include "host/admin_json.hpp"
#include "host/event_feed.hpp"
#include "net/upgrade.hpp"
#include "wire/websocket.hpp"
#include "wire/websocket_decoder.hpp"

namespace spotmesh::host {
namespace {

using wire::WebSocketOpcode;

constexpr std::size_t longest_message = 4096;  // of the reader
// A reader that answers none of so many pings is gone.
constexpr unsigned unanswered_pings_most = 2;
// A reader has reason for few messages between two of ours.
constexpr unsigned messages_per_interval = 16;

// Counts one watcher for as long as it lives.
class WatcherPlace {
 public:
  static std::optional<WatcherPlace> take(std::shared_ptr<Watchers> watchers) {
    if (watchers->count.fetch_add(1) < Watchers::most) return WatcherPlace(std::move(watchers));
    watchers->count.fetch_sub(1);
    return {};
  }
  WatcherPlace(WatcherPlace&&) noexcept = default;
  WatcherPlace& operator=(WatcherPlace&&) = delete;
  ~WatcherPlace() {
    if (watchers_) watchers_->count.fetch_sub(1);
  }

 private:
  explicit WatcherPlace(std::shared_ptr<Watchers> watchers) : watchers_(std::move(watchers)) {}
  std::shared_ptr<Watchers> watchers_;
};

class EventSocket final : public net::HttpTunnel {
 public:
  EventSocket(const ClusterView& cluster, FeedOptions options, WatcherPlace place)
      : cluster_(cluster),
        options_(std::move(options)),
        place_(std::move(place)),
        decoder_({.role = wire::WebSocketRole::Server,
                  .max_message_bytes = longest_message,
                  .max_message_fragments = 16}) {}

  void on_open(std::function<void()> wake) override {
    feed_.emplace(cluster_, options_, std::move(wake));
  }

  void on_bytes(ByteView bytes) override {
    using Kind = wire::WebSocketEvent::Kind;
    while (!has_ended_) {
      const wire::WebSocketEvent event = decoder_.next(bytes);
      switch (event.kind) {
        case Kind::NeedMoreBytes:
          return;
        case Kind::Text:
          take_text(as_text(event.payload));
          break;
        case Kind::Binary:
          close(wire::CloseCode::UnsupportedData, "this endpoint takes text");
          break;
        case Kind::Ping:
          if (count_message()) wire::append_frame(outgoing_, WebSocketOpcode::Pong, event.payload);
          break;
        case Kind::Pong:
          unanswered_pings_ = 0;
          break;
        case Kind::Close:
          close(wire::CloseCode::Normal, "");
          break;
        case Kind::Failed:
          close(event.close.code, event.close.reason);
          break;
      }
    }
  }

  Bytes take() override {
    if (outgoing_.empty() && !has_ended_) {
      if (const auto message = feed_->next()) {
        wire::append_frame(outgoing_, WebSocketOpcode::Text, as_bytes(*message));
      }
    }
    return std::exchange(outgoing_, {});
  }

  bool has_ended() const override { return has_ended_; }

  void on_interval() override {
    messages_ = 0;
    if (unanswered_pings_ == unanswered_pings_most) {
      return close(wire::CloseCode::PolicyViolation, "the reader answers no pings");
    }
    ++unanswered_pings_;
    wire::append_frame(outgoing_, WebSocketOpcode::Ping, {});
  }

  void on_closed() override { feed_->end(); }

 private:
  bool count_message() {
    if (++messages_ <= messages_per_interval) return true;
    close(wire::CloseCode::PolicyViolation, "the reader says too much");
    return false;
  }

  void take_text(std::string_view text) {
    if (!count_message()) return;
    const auto parsed = nlohmann::json::parse(text, nullptr, false);
    const bool is_known = parsed.is_object() && parsed.size() == 1 && parsed.contains("ask") &&
                          parsed.at("ask") == "snapshot";
    if (is_known) return feed_->ask_snapshot();
    close(wire::CloseCode::PolicyViolation, R"(a reader may say {"ask":"snapshot"})");
  }

  void close(wire::CloseCode code, std::string_view reason) {
    if (std::exchange(has_ended_, true)) return;
    wire::append_close_frame(outgoing_, code, reason);
  }

  const ClusterView cluster_;
  const FeedOptions options_;
  const WatcherPlace place_;
  wire::WebSocketDecoder decoder_;
  std::optional<EventFeed> feed_;
  Bytes outgoing_;
  bool has_ended_ = false;
  unsigned unanswered_pings_ = 0;
  unsigned messages_ = 0;  // of the reader, since the last interval
};

net::HttpResponse refusal(unsigned status, std::string_view text,
                          std::vector<net::HttpHeader> headers = {}) {
  return {.status = status,
          .content_type = "application/json; charset=utf-8",
          .body = error_json(text),
          .headers = std::move(headers),
          .tunnel = {}};
}

Result<FeedOptions> feed_options(const AdminTarget& target, const std::string& client) {
  if (auto allowed = allow_parameters(target, {"rows"}); !allowed) return fail(allowed.error());
  FeedOptions options{.tells_rows = true, .client = client};
  const auto rows = target.query.find("rows");
  if (rows == target.query.end() || rows->second == "true") return options;
  if (rows->second != "false") {
    return fail(Error::invalid_operation("rows is true or false"));
  }
  options.tells_rows = false;
  return options;
}

}  // namespace

net::HttpResponse open_event_socket(const ClusterView& cluster, const net::RequestHead& request,
                                    const AdminTarget& target, const std::string& client,
                                    const std::shared_ptr<Watchers>& watchers) {
  auto options = feed_options(target, client);
  if (!options) return refusal(400, options.error().message());
  auto upgrade = net::judge_bare_upgrade(request, "/v1/events");
  if (!upgrade) {
    net::TextResponse& told = upgrade.error();
    return refusal(told.status, told.text, std::move(told.headers));
  }
  auto place = WatcherPlace::take(watchers);
  if (!place) {
    return refusal(503, fmt::format("{} watch already, which is the most", Watchers::most));
  }
  return {.status = 101,
          .content_type = {},
          .body = {},
          .headers = *std::move(upgrade),
          .tunnel = std::make_shared<EventSocket>(cluster, *std::move(options), *std::move(place))};
}

}  // namespace spotmesh::host
