#include "serve/http/http_error.h"

#include <new>
#include <string>
#include <string_view>

#include "runtime/base/check.h"
#include "serve/http/inference_protocol.h"
#include "serve/request_queue.h"
#include "serve/served_model.h"

namespace tessera::serve {
namespace {

constexpr size_t kMaxShown = 500;

// Cuts places in our source off a message such as "… (runtime/base/check.cc:12)": they mean nothing
// to a client.
std::string WithoutSource(std::string what) {
  for (size_t at; what.ends_with(')') && (at = what.rfind(" (")) != std::string::npos;) {
    const std::string place = what.substr(at);
    if (place.find(".cc:") == std::string::npos && place.find(".h:") == std::string::npos) break;
    what.resize(at);
  }
  return what;
}

std::string Shortened(std::string what) {
  if (what.size() <= kMaxShown) return what;
  return Format("{}...", std::string_view(what).substr(0, kMaxShown));
}

}  // namespace

HttpResponse ErrorResponse(const std::exception& error) {
  const auto answer = [](int status, const std::string& what) {
    return HttpResponse{.status = status,
                        .content_type = kJsonType,
                        .body = ErrorJson(Shortened(WithoutSource(what)))};
  };
  if (const auto* http = dynamic_cast<const HttpError*>(&error)) {
    HttpResponse response = answer(http->status(), error.what());
    response.allow = http->allow();
    return response;
  }
  if (dynamic_cast<const QueueFull*>(&error) != nullptr) return answer(503, error.what());
  if (dynamic_cast<const DeadlinePassed*>(&error) != nullptr) return answer(504, error.what());
  if (dynamic_cast<const BrokenModel*>(&error) != nullptr) return answer(500, error.what());
  if (dynamic_cast<const Error*>(&error) != nullptr) return answer(400, error.what());
  if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr)
    return answer(503, "the server's memory ran out; try again, or send fewer examples at a time");
  return answer(500, "internal error");
}

}  // namespace tessera::serve
