#include "bench/harness/case_parts.h"

#include <algorithm>

#include "runtime/base/joined.h"

namespace tessera::bench {
namespace {

// "dim=64", "skew=uniform" of a sweep's case; nothing of a suite's.
std::vector<std::string> PartsOf(const std::string& name) {
  std::vector<std::string> parts;
  for (size_t begin = 0; begin <= name.size();) {
    const size_t end = std::min(name.find(',', begin), name.size());
    parts.push_back(name.substr(begin, end - begin));
    if (parts.back().find('=') == std::string::npos) return {};
    begin = end + 1;
  }
  return parts;
}

bool Has(const std::vector<std::string>& parts, const std::string& part) {
  return std::find(parts.begin(), parts.end(), part) != parts.end();
}

}  // namespace

CaseParts::CaseParts(const std::vector<std::string>& names) {
  if (names.empty()) return;
  shared_ = PartsOf(names[0]);
  for (const std::string& name : names) {
    const std::vector<std::string> parts = PartsOf(name);
    std::erase_if(shared_, [&](const std::string& part) { return !Has(parts, part); });
  }
}

std::string CaseParts::OwnPart(const std::string& name) const {
  std::vector<std::string> parts = PartsOf(name);
  if (parts.empty()) return name;
  std::erase_if(parts, [&](const std::string& part) { return Has(shared_, part); });
  return internal::Joined(parts, ",");
}

}  // namespace tessera::bench
