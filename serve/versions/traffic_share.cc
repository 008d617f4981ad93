#include "serve/versions/traffic_share.h"

#include "runtime/base/check.h"
#include "runtime/base/parse_number.h"

namespace tessera::serve {

TrafficShare ParseTrafficShare(const std::string& text, const std::string& flag) {
  TrafficShare share;
  const size_t colon = text.find(':');
  const bool is_share = colon != text.npos && ParseNumber(text.substr(0, colon), share.version) &&
                        ParseNumber(text.substr(colon + 1), share.percent);
  if (!is_share || share.version < 1 || share.percent < 1 || share.percent > 100)
    throw Error(Format(
        "{} {}: expected a version and 1 to 100 percent, such as 5:10 for 10 percent", flag, text));
  return share;
}

}  // namespace tessera::serve
