#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "store/redis/redis_options.hpp"

namespace spotmesh::store {
namespace {

constexpr std::string_view plain_scheme = "redis://";
constexpr std::string_view sentinel_scheme = "redis+sentinel://";
constexpr std::uint16_t redis_port = 6379;
constexpr std::uint16_t sentinel_port = 26379;
constexpr unsigned databases = 16'384;
constexpr std::size_t longest_prefix = 64;
constexpr std::size_t longest_password = 4096;
constexpr std::size_t most_sentinels = 16;

// What is wrong, said without the URL: its author knows best what to leave out.
using Fault = std::string;

template <typename Number>
bool parse_number(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size();
}

bool is_name(std::string_view text) {
  return !text.empty() && text.size() <= longest_prefix &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '.' || c == '_' || c == '-';
         });
}

Fault parse_address(std::string_view text, std::uint16_t default_port, RedisAddress& address) {
  std::string_view port;
  bool has_port = false;
  if (text.starts_with('[')) {
    const auto end = text.find(']');
    if (end == std::string_view::npos) return fmt::format("'{}' has no closing bracket", text);
    address.host = text.substr(1, end - 1);
    has_port = end + 1 < text.size();
    if (has_port && text[end + 1] != ':') return fmt::format("'{}' is no address", text);
    if (has_port) port = text.substr(end + 2);
  } else {
    const auto colon = text.find(':');
    address.host = text.substr(0, colon);
    has_port = colon != std::string_view::npos;
    if (has_port) port = text.substr(colon + 1);
  }
  if (address.host.empty()) return "it names no host";
  address.port = default_port;
  if (has_port && (!parse_number(port, address.port) || address.port == 0)) {
    return fmt::format("'{}' is no port; 1 to 65535 are", port);
  }
  return {};
}

Fault read_password(const std::string& path, std::string& password) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return fmt::format("the file '{}' with the password cannot be read", path);
  password.assign(std::istreambuf_iterator<char>(file), {});
  while (password.ends_with('\n') || password.ends_with('\r')) password.pop_back();
  if (password.empty() || password.size() > longest_password) {
    return fmt::format("the file '{}' holds no password of 1 to {} bytes", path, longest_password);
  }
  return {};
}

Fault set_parameter(RedisOptions& options, std::string_view name, const std::string& value) {
  const bool has_sentinel = !options.master_name.empty();
  if (name == "prefix") {
    options.prefix = value;
    return is_name(value) ? Fault{}
                          : fmt::format("the prefix has 1 to {} of a-z, A-Z, 0-9, '.', '_' and '-'",
                                        longest_prefix);
  }
  if (name == "user") return options.credentials.user = value, Fault{};
  if (name == "password_file") return read_password(value, options.credentials.password);
  if (has_sentinel && name == "sentinel_user") {
    return options.sentinel_credentials.user = value, Fault{};
  }
  if (has_sentinel && name == "sentinel_password_file") {
    return read_password(value, options.sentinel_credentials.password);
  }
  if (has_sentinel && name == "database") {
    return parse_number(value, options.database) && options.database < databases
               ? Fault{}
               : fmt::format("'{}' is no number of a database", value);
  }
  return fmt::format("it takes no parameter '{}'; there are prefix, user, password_file{}", name,
                     has_sentinel ? ", database, sentinel_user and sentinel_password_file" : "");
}

Fault set_parameters(RedisOptions& options, std::string_view query) {
  std::map<std::string, std::string, std::less<>> seen;
  while (!query.empty()) {
    const std::string_view parameter = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(query.size(), parameter.size() + 1));
    const auto equals = parameter.find('=');
    const std::string_view name = parameter.substr(0, equals);
    if (equals == std::string_view::npos || equals + 1 == parameter.size()) {
      return fmt::format("the parameter '{}' has no value", name);
    }
    const std::string value(parameter.substr(equals + 1));
    if (!seen.emplace(name, value).second) return fmt::format("'{}' stands twice", name);
    if (Fault fault = set_parameter(options, name, value); !fault.empty()) return fault;
  }
  for (const auto* user : {&options.credentials, &options.sentinel_credentials}) {
    if (!user->user.empty() && user->password.empty()) {
      return fmt::format("the user '{}' has no password; name its file", user->user);
    }
  }
  return {};
}

Fault set_place(RedisOptions& options, std::string_view hosts, std::string_view path,
                bool has_sentinel) {
  if (has_sentinel) {
    options.master_name = path;
    if (path.empty()) return "it does not name the primary that Sentinel watches";
  } else if (!path.empty() &&
             (!parse_number(path, options.database) || options.database >= databases)) {
    return fmt::format("'{}' is no number of a database", path);
  }
  while (true) {
    const std::string_view host = hosts.substr(0, hosts.find(','));
    RedisAddress address;
    Fault fault = parse_address(host, has_sentinel ? sentinel_port : redis_port, address);
    if (!fault.empty()) return fault;
    options.addresses.push_back(std::move(address));
    if (host.size() == hosts.size()) break;
    hosts.remove_prefix(host.size() + 1);
  }
  if (!has_sentinel && options.addresses.size() > 1) return "only Sentinels can be several";
  if (options.addresses.size() > most_sentinels) {
    return fmt::format("more than {} Sentinels", most_sentinels);
  }
  return {};
}

}  // namespace

std::string to_string(const RedisAddress& address) {
  const bool is_ipv6 = address.host.find(':') != std::string::npos;
  return fmt::format("{}{}{}:{}", is_ipv6 ? "[" : "", address.host, is_ipv6 ? "]" : "",
                     address.port);
}

Result<RedisOptions> parse_redis_url(std::string_view url) {
  const auto refuse = [](std::string_view shown, std::string_view reason) {
    return fail(Error::invalid_operation(
        fmt::format("\"{}\" names no Redis: {}; write \"redis://host:6379/0?prefix=game\" or "
                    "\"redis+sentinel://host:26379/primary-name?prefix=game\"",
                    shown, reason)));
  };
  if (url.starts_with("rediss")) return refuse(url, "TLS to Redis is not supported yet");
  const bool has_sentinel = url.starts_with(sentinel_scheme);
  if (!has_sentinel && !url.starts_with(plain_scheme)) {
    return refuse(url, "it begins with neither \"redis://\" nor \"redis+sentinel://\"");
  }
  std::string_view rest = url;
  rest.remove_prefix(has_sentinel ? sentinel_scheme.size() : plain_scheme.size());
  const auto question = rest.find('?');
  const std::string_view place = rest.substr(0, question);
  const std::string_view query =
      question == std::string_view::npos ? std::string_view{} : rest.substr(question + 1);
  const auto slash = place.find('/');
  const std::string_view hosts = place.substr(0, slash);
  if (hosts.find('@') != std::string_view::npos) {
    // What stands before it may be a secret.
    return refuse(has_sentinel ? "redis+sentinel://…" : "redis://…",
                  "a password in it would be printed; use ?user=NAME&password_file=FILE");
  }
  const std::string_view path =
      slash == std::string_view::npos ? std::string_view{} : place.substr(slash + 1);
  RedisOptions options;
  Fault fault = set_place(options, hosts, path, has_sentinel);
  if (fault.empty()) fault = set_parameters(options, query);
  if (!fault.empty()) return refuse(url, fault);
  return options;
}

}  // namespace spotmesh::store
