#include "serve/versions/bad_versions.h"

#include <algorithm>

#include "runtime/base/check.h"

namespace tessera::serve {

std::string BadVersionsText(const std::vector<BadVersion>& bad) {
  std::string text;
  for (const BadVersion& version : bad)
    text += Format("{}version {} cannot be loaded: {}", text.empty() ? "" : "; ", version.number,
                   version.why);
  return text;
}

std::string RollbackText(const std::string& folder, const std::vector<BadVersion>& bad,
                         int64_t newest_good) {
  const bool newer = std::ranges::any_of(
      bad, [&](const BadVersion& version) { return version.number > newest_good; });
  if (!newer) return "";
  return Format("tessera rollback {} --to {} takes back the versions above {}", folder, newest_good,
                newest_good);
}

void ThrowNoneIsGood(const std::string& folder, const std::vector<BadVersion>& bad) {
  throw Error(Format(
      "{}: no version can be loaded: {}; write the next one with tessera quantize CHECKPOINT "
      "-o {}, or restore the files of one and take back those above it with tessera rollback "
      "{} --to VERSION",
      folder, BadVersionsText(bad), folder, folder));
}

}  // namespace tessera::serve
