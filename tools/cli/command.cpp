#include "cli/command.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <fstream>
#include <iterator>
#include <optional>
#include <utility>

#include "base/utf8.hpp"
#include "cli/admin_client.hpp"
#include "cli/lists.hpp"
#include "cli/shutdown.hpp"
#include "cli/terminal_text.hpp"
#include "cli/watch.hpp"
#include "cli/why.hpp"

namespace spotmesh::cli {
namespace {

constexpr std::string_view default_admin = "http://127.0.0.1:9464";
constexpr double longest_seconds = 24 * 3600;
constexpr std::size_t longest_token = 4096;

struct Options {
  std::string admin;
  std::string token;
  std::string token_file;
  double timeout_seconds = 10;
  bool as_json = false;
  ListOptions list;
  std::string id;
  ShutdownOptions shutdown;
  bool no_wait = false;
  double wait_seconds = 60;
  WatchOptions watch;
  double watch_seconds = 0;
};

Duration seconds(double count) {
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(count));
}

void add_common(CLI::App& command, Options& options) {
  command
      .add_option(
          "--admin", options.admin,
          "The admin endpoint of any node; else SPOTMESH_ADMIN, else " + std::string(default_admin))
      ->type_name("URL");
  auto* token = command.add_option(
      "--token", options.token,
      "What the endpoint demands; else SPOTMESH_ADMIN_TOKEN. Other users of this machine may see "
      "it here");
  command.add_option("--token-file", options.token_file, "A file with it")
      ->type_name("FILE")
      ->excludes(token);
  command.add_option("--timeout", options.timeout_seconds, "Seconds to wait for an answer")
      ->check(CLI::Range(0.01, longest_seconds));
}

void add_json(CLI::App& command, Options& options, const std::string& what) {
  command.add_flag("--json", options.as_json, what);
}

CLI::App* add_list(CLI::App& app, const std::string& name, const std::string& what,
                   const std::string& type, Options& options) {
  auto* list = app.add_subcommand(name, what);
  add_common(*list, options);
  add_json(*list, options, "One JSON object per line instead of a table");
  list->add_option("--type", options.list.type, "Only of this " + type);
  list->add_option("--mesh", options.list.mesh, "Only in this mesh");
  list->add_option("--node", options.list.node, "Only on the node with this id");
  list->add_option("--limit", options.list.limit, "At most so many; all, if not given");
  return list;
}

// The token, without the white space at its end; the error names the file.
Result<std::string> read_token(const Options& options, const Environment& environment) {
  std::string token = options.token;
  if (!options.token_file.empty()) {
    std::ifstream file(options.token_file, std::ios::binary);
    token.assign(std::istreambuf_iterator<char>(file), {});
    if (!file) {
      return fail(Error::not_found(
          fmt::format("the file {} with the token cannot be read", shown(options.token_file))));
    }
  } else if (token.empty()) {
    const char* const set = environment("SPOTMESH_ADMIN_TOKEN");
    if (set != nullptr) token = set;
  }
  while (!token.empty() && (token.back() == '\n' || token.back() == '\r')) token.pop_back();
  const bool is_sound = token.size() <= longest_token &&
                        std::ranges::all_of(token, [](char c) { return c > ' ' && c < '\x7f'; });
  if (is_sound) return token;
  return fail(
      Error::invalid_operation("the token is too long, or has characters that no token has"));
}

Result<AdminClient> client_of(const Options& options, const Environment& environment) {
  std::string url = options.admin;
  if (url.empty()) {
    const char* const set = environment("SPOTMESH_ADMIN");
    url = set != nullptr && *set != '\0' ? set : default_admin;
  }
  auto parsed = parse_admin_url(url);
  if (!parsed) return fail(parsed.error());
  auto token = read_token(options, environment);
  if (!token) return fail(token.error());
  return AdminClient(*std::move(parsed), *std::move(token), seconds(options.timeout_seconds));
}

// All commands, and what they have read.
class Commands {
 public:
  explicit Commands(Options& options)
      : app_("Looks at a live cluster of Spotmesh, and stops its nodes.", "spotmesh"),
        options_(options) {
    app_.require_subcommand(1);
    app_.footer(
        "Example: spotmesh why actor ann --admin http://127.0.0.1:9464\n"
        "Exit code: 0 done, 1 failed or not all of it could be had, 2 wrong usage.");
    add_lists();
    add_others();
  }

  CLI::App& app() { return app_; }

  // The value is whether all of it could be had.
  Result<bool> run(const AdminClient& client, Output output) {
    if (nodes_->parsed()) return print_nodes(client, options_.as_json, output);
    options_.list.as_json = options_.as_json;
    if (actors_->parsed()) return print_list(client, List::Actors, options_.list, output);
    if (spots_->parsed()) return print_list(client, List::Spots, options_.list, output);
    if (sessions_->parsed()) return print_list(client, List::Sessions, options_.list, output);
    if (why_actor_->parsed()) return why_actor(client, options_.id, options_.as_json, output);
    if (why_session_->parsed()) return why_session(client, options_.id, options_.as_json, output);
    const auto done = watch_->parsed() ? run_watch(client, output) : run_shutdown(client, output);
    if (!done) return fail(done.error());
    return true;
  }

 private:
  void add_lists() {
    nodes_ = app_.add_subcommand("nodes", "The nodes of the cluster, and how full they are");
    add_common(*nodes_, options_);
    add_json(*nodes_, options_, "One JSON object per line instead of a table");
    nodes_->footer(
        "Example: spotmesh nodes\n* is the node that was asked; ? behind a state: it has not "
        "answered, and this is what it said last.");
    actors_ = add_list(app_, "actors", "The Actors of the cluster", "type", options_);
    actors_->add_option("--spot", options_.list.spot, "Only the members of this Spot");
    actors_->footer("Example: spotmesh actors --type player --limit 20");
    spots_ = add_list(app_, "spots", "The Spots of the cluster", "type", options_);
    spots_->footer("Example: spotmesh spots --json");
    sessions_ =
        add_list(app_, "sessions", "The client sessions of the cluster", "gateway", options_);
    sessions_->footer("Example: spotmesh sessions --type gateway");
  }

  void add_others() {
    watch_ = app_.add_subcommand("watch", "What happens in the cluster, line by line");
    add_common(*watch_, options_);
    add_json(*watch_, options_, "The messages of the stream, one per line");
    watch_->add_flag("--snapshot", options_.watch.with_rows,
                     "With --json: what there is already, before what happens");
    watch_->add_option("--for", options_.watch_seconds, "End after so many seconds")
        ->check(CLI::Range(0.01, longest_seconds));
    watch_->add_option("--events", options_.watch.events, "End after so many events");
    watch_->footer("Example: spotmesh watch --for 60");
    auto* why = app_.add_subcommand("why", "All that is known of one Actor or session");
    why->require_subcommand(1);
    why->footer("Example: spotmesh why actor ann");
    why_actor_ = add_why(*why, "actor", "Where it is, what it does and what it waits for",
                         "Example: spotmesh why actor ann\nAn id that begins with a hyphen stands "
                         "behind --, an odd one in $'…' of the shell.");
    why_session_ = add_why(*why, "session", "Whose it is, and what it waits for",
                           "Example: spotmesh why session 0123456789abcdef0123456789abcdef");
    shutdown_ = app_.add_subcommand("shutdown", "Stop a node in order");
    add_common(*shutdown_, options_);
    shutdown_->add_option("NODE", options_.shutdown.node, "Its id, or the beginning of it")
        ->required();
    shutdown_->add_option("--deadline", options_.shutdown.deadline,
                          "How long it waits for turns that are under way, such as 30s");
    shutdown_->add_option("--wait", options_.wait_seconds, "Seconds to wait until it has stopped")
        ->check(CLI::Range(0.01, longest_seconds));
    shutdown_->add_flag("--no-wait", options_.no_wait, "Only tell it");
    shutdown_->footer("Example: spotmesh shutdown node-9f49ca75 --deadline 30s");
  }

  CLI::App* add_why(CLI::App& why, const std::string& name, const std::string& what,
                    const std::string& footer) {
    auto* command = why.add_subcommand(name, what);
    add_common(*command, options_);
    add_json(*command, options_, "The document of the endpoint instead of sentences");
    command->add_option("ID", options_.id, "Its id")->required();
    command->footer(footer);
    return command;
  }

  Result<void> run_watch(const AdminClient& client, Output output) {
    options_.watch.as_json = options_.as_json;
    if (options_.watch_seconds > 0) options_.watch.time = seconds(options_.watch_seconds);
    return watch(client, options_.watch, output);
  }

  Result<void> run_shutdown(const AdminClient& client, Output output) {
    options_.shutdown.waits = !options_.no_wait;
    options_.shutdown.wait = seconds(options_.wait_seconds);
    return shut_down(client, options_.shutdown, output);
  }

  CLI::App app_;
  Options& options_;
  CLI::App* nodes_ = nullptr;
  CLI::App* actors_ = nullptr;
  CLI::App* spots_ = nullptr;
  CLI::App* sessions_ = nullptr;
  CLI::App* watch_ = nullptr;
  CLI::App* why_actor_ = nullptr;
  CLI::App* why_session_ = nullptr;
  CLI::App* shutdown_ = nullptr;
};

}  // namespace

int run(std::vector<std::string> arguments, const Environment& environment, std::ostream& out,
        std::ostream& err) {
  const auto tell = [&err](const Error& error) {
    err << "spotmesh: " << shown_words(error.message()) << '\n';
  };
  for (const std::string& argument : arguments) {
    if (is_valid_utf8(argument)) continue;
    tell(Error::invalid_operation("an argument is not UTF-8"));
    return exit_usage;
  }
  Options options;
  Commands commands(options);
  std::ranges::reverse(arguments);
  try {
    commands.app().parse(arguments);
  } catch (const CLI::ParseError& error) {
    return commands.app().exit(error, out, err) == 0 ? exit_done : exit_usage;
  }
  const auto client = client_of(options, environment);
  if (!client) {
    tell(client.error());
    return exit_usage;
  }
  const auto outcome = commands.run(*client, {out, err});
  if (!outcome) {
    tell(outcome.error());
    return exit_failure;
  }
  return *outcome ? exit_done : exit_failure;
}

}  // namespace spotmesh::cli
