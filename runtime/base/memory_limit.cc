#include "runtime/base/memory_limit.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <limits>
#include <optional>
#include <sstream>

#include "runtime/base/cgroups.h"
#include "runtime/base/check.h"
#include "runtime/base/joined.h"
#include "runtime/base/report_text.h"

namespace tessera {
namespace {

// The number after `key` in a file of lines "key number…"; an empty key: the first word.
std::optional<double> NumberIn(const std::string& path, const std::string& key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string word;
    if (!key.empty() && !(words >> word && word == key)) continue;
    double number = 0;
    if (words >> number) return number;
    return {};
  }
  return {};
}

// Names of the files of a cgroup.
struct CgroupFiles {
  const char *limit, *usage, *cached;
};
constexpr CgroupFiles kV2 = {"memory.max", "memory.current", "inactive_file"};
constexpr CgroupFiles kV1 = {"memory.limit_in_bytes", "memory.usage_in_bytes",
                             "total_inactive_file"};

// The memory that one cgroup leaves; absent if it has no limit.
std::optional<double> LeftIn(const std::string& folder, const CgroupFiles& files) {
  const auto limit = NumberIn(folder + "/" + files.limit, "");  // "max" is no number
  if (!limit) return {};
  const double used = NumberIn(folder + "/" + files.usage, "").value_or(0),
               cached = NumberIn(folder + "/memory.stat", files.cached).value_or(0);
  return std::max(0.0, *limit - std::max(0.0, used - cached));
}

// The least that the cgroups of this process leave.
std::optional<double> LeftInCgroups(const std::string& root) {
  std::optional<double> least;
  ForEachCgroup(root, "memory", [&](const std::string& folder, bool is_v2) {
    if (const auto left = LeftIn(folder, is_v2 ? kV2 : kV1))
      least = std::min(*left, least.value_or(*left));
  });
  return least;
}

double UnitOf(std::string_view unit) {
  if (unit.empty() || unit == "B") return 1;
  const std::string_view rest = unit.substr(1);
  const size_t at = std::string_view("KMGT").find(unit[0]);
  if (at == std::string_view::npos || !(rest.empty() || rest == "B" || rest == "iB")) return 0;
  return std::exp2(10.0 * static_cast<double>(at + 1));
}

}  // namespace

MemoryThere AvailableMemory(const std::string& root) {
  MemoryThere there = {std::numeric_limits<double>::infinity(), "unknown"};
  if (const auto kib = NumberIn(root + "/proc/meminfo", "MemAvailable:"))
    there = {*kib * 1024, "available on this machine"};
  const auto left = LeftInCgroups(root);
  if (left && *left < there.bytes) there = {*left, "below the limit of this process's cgroup"};
  return there;
}

double ParseMemorySize(std::string_view text) {
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  const double unit = error == std::errc() ? UnitOf({rest, end}) : 0;
  if (unit == 0 || !(number > 0) || !std::isfinite(number * unit))
    throw Error(Format("expected a size such as 512M, 12G or 1.5T, got '{}'", text));
  return number * unit;
}

double SumOf(const std::vector<MemoryPart>& parts) {
  double sum = 0;
  for (const MemoryPart& part : parts) sum += part.bytes;
  return sum;
}

std::string LargestText(std::vector<MemoryPart> parts) {
  std::stable_sort(parts.begin(), parts.end(),
                   [](const MemoryPart& a, const MemoryPart& b) { return a.bytes > b.bytes; });
  return internal::JoinedFirst(parts, 4, [](const MemoryPart& part) {
    return Format("{} {}", part.what, BytesText(part.bytes));
  });
}

std::string BytesText(double bytes) {
  constexpr double kMax = 4611686018427387904.0;  // 2^62
  return internal::Bytes(static_cast<int64_t>(std::min(bytes, kMax)));
}

void CheckMemory(const std::string& who, std::vector<MemoryPart> parts, const MemoryThere& there,
                 const std::string& advice) {
  parts.push_back({"the process itself", there.processes});
  const double sum = SumOf(parts);
  if (sum <= there.bytes) return;
  std::string text;
  for (const MemoryPart& part : parts) {
    if (part.bytes == 0) continue;
    text += Format("{}{} {}", text.empty() ? "" : ", ", part.what, BytesText(part.bytes));
    if (!part.detail.empty()) text += Format(" ({})", part.detail);
  }
  throw Error(Format("{} takes about {} of memory: {}; there are {} ({}).{}{}", who, BytesText(sum),
                     text, BytesText(there.bytes), there.source, advice.empty() ? "" : " ",
                     advice));
}

}  // namespace tessera
