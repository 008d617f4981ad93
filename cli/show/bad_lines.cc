#include "cli/show/bad_lines.h"

#include <algorithm>
#include <vector>

#include "cli/show/numbers.h"
#include "runtime/base/check.h"

namespace tessera::cli {

std::string LeftOut(int64_t lines, const BadLineCounts& reasons) {
  std::vector<std::pair<int64_t, std::string>> most;
  for (const auto& [reason, count] : reasons) most.emplace_back(-count, reason);
  std::sort(most.begin(), most.end());
  const std::string text = Format("left out {}", Counted(lines, "bad line"));
  std::string parts;
  for (const auto& [count, reason] : most)
    parts += Format("{}{}: {}", parts.empty() ? "" : "; ", Count(-count), reason);
  return parts.empty() ? text : Format("{} ({})", text, parts);
}

}  // namespace tessera::cli
