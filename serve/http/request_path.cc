#include "serve/http/request_path.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "serve/http/http_error.h"

namespace tessera::serve {
namespace {

std::string Decoded(std::string_view part) {
  std::string decoded;
  for (size_t i = 0; i < part.size(); ++i) {
    if (part[i] != '%') {
      decoded += part[i];
      continue;
    }
    const std::string_view digits = part.substr(i + 1, 2);
    unsigned char byte = 0;
    const char* const end = digits.data() + digits.size();
    if (digits.size() != 2 || std::from_chars(digits.data(), end, byte, 16).ptr != end)
      throw HttpError(400, "the path: expected two hexadecimal digits behind %");
    decoded += static_cast<char>(byte);
    i += 2;
  }
  return decoded;
}

constexpr char kGet[] = "GET", kPost[] = "POST", kGetOrPost[] = "GET, POST";

struct FixedPath {
  const char* path;
  Action action;
  const char* methods;
};
constexpr FixedPath kFixedPaths[] = {
    {"v2", Action::kServer, kGet},
    {"v2/health/live", Action::kLive, kGet},
    {"v2/health/ready", Action::kReady, kGet},
    {"metrics", Action::kMetrics, kGet},
    {"v2/repository/index", Action::kIndex, kGetOrPost},
    {"v2/models/stats", Action::kStatisticsOfAll, kGet},
};

// A word that may stand behind a model, or behind one version of it.
struct Suffix {
  const char* word;  // "" for the model itself
  Action action;
  const char* methods;
};
constexpr Suffix kModelSuffixes[] = {
    {"", Action::kModel, kGet},        {"ready", Action::kModelReady, kGet},
    {"config", Action::kConfig, kGet}, {"stats", Action::kStatistics, kGet},
    {"infer", Action::kInfer, kPost},  {"infer_rows", Action::kInferRows, kPost},
};
constexpr Suffix kRepositorySuffixes[] = {
    {"load", Action::kLoad, kPost},
    {"deltas", Action::kDeltas, kPost},
};

bool IsPath(const std::vector<std::string>& parts, std::string_view path) {
  for (size_t i = 0; i < parts.size(); ++i) {
    const std::string_view part = path.substr(0, path.find('/'));
    if (parts[i] != part || part.size() == path.size())
      return parts[i] == part && i + 1 == parts.size();
    path.remove_prefix(part.size() + 1);
  }
  return false;
}

template <size_t n>
std::optional<Route> RouteWith(const Suffix (&suffixes)[n], const std::string& word, Route route) {
  for (const Suffix& suffix : suffixes) {
    if (word != suffix.word) continue;
    route.action = suffix.action;
    route.methods = suffix.methods;
    return route;
  }
  return std::nullopt;
}

// /v2/repository/models/NAME/WORD.
std::optional<Route> RepositoryRoute(const std::vector<std::string>& parts) {
  if (parts.size() != 5 || parts[2] != "models") return std::nullopt;
  return RouteWith(kRepositorySuffixes, parts[4], {.action = {}, .methods = {}, .model = parts[3]});
}

// /v2/models/NAME[/versions/V][/WORD].
std::optional<Route> ModelRoute(const std::vector<std::string>& parts) {
  Route route{.action = {}, .methods = {}, .model = parts[2]};
  size_t next = 3;
  if (parts.size() >= 5 && parts[3] == "versions") {
    route.version = parts[4];
    next = 5;
  }
  const bool has_word = next < parts.size();
  if (parts.size() > next + 1 || (has_word && parts[next].empty())) return std::nullopt;
  return RouteWith(kModelSuffixes, has_word ? parts[next] : "", std::move(route));
}

}  // namespace

std::vector<std::string> PathParts(std::string_view target) {
  target = target.substr(0, target.find_first_of("?#"));
  std::vector<std::string> parts;
  while (!target.empty()) {
    target.remove_prefix(1);  // a slash
    const std::string_view part = target.substr(0, target.find('/'));
    parts.push_back(Decoded(part));
    target.remove_prefix(part.size());
  }
  return parts;
}

std::optional<Route> RouteOf(std::string_view target) {
  const std::vector<std::string> parts = PathParts(target);
  for (const FixedPath& path : kFixedPaths)
    if (IsPath(parts, path.path)) return Route{path.action, path.methods};
  if (parts.size() < 3 || parts[0] != "v2" || parts[2].empty()) return std::nullopt;
  if (parts[1] == "repository") return RepositoryRoute(parts);
  return parts[1] == "models" ? ModelRoute(parts) : std::nullopt;
}

bool IsAsked(std::string_view target, std::string_view key) {
  target = target.substr(0, target.find('#'));
  const size_t question = target.find('?');
  std::string_view query = question == target.npos ? "" : target.substr(question + 1);
  std::optional<bool> asked;
  while (!query.empty()) {
    const std::string_view item = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(query.size(), item.size() + 1));
    if (item.empty()) continue;
    const size_t equals = item.find('=');
    if (item.substr(0, equals) != key)
      throw HttpError(400, Format("the query: unknown word '{}'; known here: {}",
                                  std::string(item.substr(0, std::min<size_t>(equals, 40))), key));
    const std::string_view value = equals == item.npos ? "" : item.substr(equals + 1);
    if (value != "true" && value != "false")
      throw HttpError(400, Format("?{}: expected true or false, got '{}'", key,
                                  std::string(value.substr(0, 40))));
    if (asked) throw HttpError(400, Format("the query: the word '{}' is given twice", key));
    asked = value == "true";
  }
  return asked.value_or(false);
}

bool Takes(const Route& route, std::string_view method) {
  return method == route.methods ||
         (route.methods == kGetOrPost && (method == kGet || method == kPost));
}

}  // namespace tessera::serve
