#include "serve/http/request_path.h"

#include <charconv>

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

std::optional<ModelPath> ModelPathOf(const std::vector<std::string>& parts) {
  if (parts.size() < 3 || parts[0] != "v2" || parts[1] != "models" || parts[2].empty())
    return std::nullopt;
  ModelPath path{.name = parts[2], .version = {}, .action = {}};
  size_t next = 3;
  if (parts.size() >= 5 && parts[3] == "versions") {
    path.version = parts[4];
    next = 5;
  }
  if (next < parts.size()) path.action = parts[next++];
  const bool ends_empty = next > 3 && parts.back().empty();
  if (next != parts.size() || ends_empty) return std::nullopt;
  return path;
}

std::string MethodOf(const std::vector<std::string>& parts) {
  using Parts = std::vector<std::string>;
  if (parts == Parts{"metrics"} || parts == Parts{"v2"} || parts == Parts{"v2", "health", "live"} ||
      parts == Parts{"v2", "health", "ready"})
    return "GET";
  if (parts.size() == 5 && parts[0] == "v2" && parts[1] == "repository" && parts[2] == "models" &&
      (parts[4] == "load" || parts[4] == "deltas"))
    return "POST";
  const auto model = ModelPathOf(parts);
  if (!model) return "";
  if (model->action == "infer" || model->action == kRowsAction) return "POST";
  return model->action.empty() || model->action == "ready" ? "GET" : "";
}

}  // namespace tessera::serve
