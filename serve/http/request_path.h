#ifndef TESSERA_SERVE_HTTP_REQUEST_PATH_H_
#define TESSERA_SERVE_HTTP_REQUEST_PATH_H_
// The route that a request's target names.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::serve {

inline constexpr char kRowsAction[] = "infer_rows";

// /v2/models/NAME[/versions/V][/ACTION].
struct ModelPath {
  std::string name;
  std::optional<std::string> version;
  std::string action;  // "" for the model itself
};

// "/v2/models/a%20b?x=1" as v2, models and "a b". Throws HttpError (400) for a % that is no byte.
std::vector<std::string> PathParts(std::string_view target);
// Nothing for the path of something else.
std::optional<ModelPath> ModelPathOf(const std::vector<std::string>& parts);
// The method that a path of this server takes: "GET" or "POST"; "" for no path of it.
std::string MethodOf(const std::vector<std::string>& parts);

}  // namespace tessera::serve
#endif  // TESSERA_SERVE_HTTP_REQUEST_PATH_H_
