#include "serve/versions/traffic_share.h"

#include <charconv>

#include "runtime/base/check.h"

namespace tessera::serve {

TrafficShare ParseTrafficShare(const std::string& text, const std::string& flag) {
  TrafficShare share;
  const char *begin = text.data(), *end = begin + text.size();
  const auto version = std::from_chars(begin, end, share.version);
  const bool has_percent = version.ec == std::errc() && version.ptr != end && *version.ptr == ':';
  const auto percent = has_percent ? std::from_chars(version.ptr + 1, end, share.percent) : version;
  if (!has_percent || percent.ec != std::errc() || percent.ptr != end || share.version < 1 ||
      share.percent < 1 || share.percent > 100)
    throw Error(Format(
        "{} {}: expected a version and 1 to 100 percent, such as 5:10 for 10 percent", flag, text));
  return share;
}

}  // namespace tessera::serve
