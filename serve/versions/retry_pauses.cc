#include "serve/versions/retry_pauses.h"

#include <algorithm>

namespace tessera::serve {

bool RetryPauses::IsDue(const std::string& what, const std::string& state, Time now) const {
  const auto failure = failures_.find(what);
  return failure == failures_.end() || failure->second.state != state ||
         now >= failure->second.next;
}

void RetryPauses::NoteFailed(const std::string& what, const std::string& state, Time now) {
  constexpr std::chrono::milliseconds kLongest = std::chrono::minutes(1);
  const auto before = failures_.find(what);
  const bool again = before != failures_.end() && before->second.state == state;
  const auto pause =
      again ? std::max(first_, std::min(2 * before->second.pause, kLongest)) : first_;
  failures_[what] = {.state = state, .pause = pause, .next = now + pause};
}

}  // namespace tessera::serve
