#include "serve/versions/version_policy.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "runtime/base/check.h"
#include "runtime/base/parse_number.h"

namespace tessera::serve {
namespace {

[[noreturn]] void ThrowNoPolicy(const std::string& text) {
  throw Error(Format("versions '{}': expected latest, latest:N or numbers such as 3,4", text));
}

int64_t ParseVersion(std::string_view part, const std::string& text) {
  int64_t number = 0;
  if (!ParseNumber(part, number) || number < 1) ThrowNoPolicy(text);
  return number;
}

std::string Listed(const std::vector<VersionFolder>& versions) {
  std::string text;
  for (const VersionFolder& version : versions)
    text += (text.empty() ? "" : ", ") + std::to_string(version.number);
  return text;
}

bool Has(const std::vector<VersionFolder>& versions, int64_t number) {
  return std::ranges::count(versions, number, &VersionFolder::number) > 0;
}

}  // namespace

VersionPolicy ParseVersionPolicy(const std::string& text) {
  constexpr std::string_view kLatest = "latest";
  std::string_view left = text;
  if (left == kLatest) return {};
  if (left.starts_with(kLatest)) {
    left.remove_prefix(kLatest.size());
    if (left[0] != ':') ThrowNoPolicy(text);
    return {.latest = ParseVersion(left.substr(1), text)};
  }
  VersionPolicy policy;
  for (;;) {
    const size_t comma = left.find(',');
    policy.numbers.push_back(ParseVersion(left.substr(0, comma), text));
    if (comma == left.npos) break;
    left.remove_prefix(comma + 1);
  }
  std::ranges::sort(policy.numbers);
  if (std::ranges::adjacent_find(policy.numbers) != policy.numbers.end()) ThrowNoPolicy(text);
  return policy;
}

void CheckShares(const VersionPolicy& policy) {
  const TrafficShare &canary = policy.canary, &shadow = policy.shadow;
  if (canary.version != 0 && canary.version == shadow.version)
    throw Error(Format("version {} is the --canary and the --shadow; expected two versions",
                       canary.version));
  int64_t others = 0;
  for (const int64_t number : policy.numbers) others += policy.IsTried(number) ? 0 : 1;
  if (policy.numbers.size() == 2 && others == 0)
    throw Error(
        Format("--canary {}:{} beside --shadow {}:{}: no version of --versions {},{} answers the "
               "other requests: name a third one, or leave one of these flags out",
               canary.version, canary.percent, shadow.version, shadow.percent, policy.numbers[0],
               policy.numbers[1]));
  for (const auto& [name, share] : {std::pair("canary", canary), {"shadow", shadow}}) {
    if (share.version == 0) continue;
    if (std::ranges::count(policy.numbers, share.version) == 0 || others == 0)
      throw Error(
          Format("--{} {}:{}: expected --versions with the numbers of this version and of one that "
                 "answers the other requests, such as --versions {},{}",
                 name, share.version, share.percent, std::max<int64_t>(1, share.version - 1),
                 share.version));
  }
}

void CheckAreThere(const VersionPolicy& policy, const std::vector<VersionFolder>& there,
                   const std::string& where) {
  for (const int64_t number : policy.numbers)
    if (!Has(there, number))
      throw Error(Format("{}: there is no version {}, but {}", where, number, Listed(there)));
}

std::vector<VersionFolder> ChosenVersions(const VersionPolicy& policy,
                                          const std::vector<VersionFolder>& there,
                                          const std::string& where) {
  std::vector<VersionFolder> chosen;
  for (auto version = there.rbegin(); version != there.rend(); ++version) {
    const bool named = policy.numbers.empty()
                           ? std::ssize(chosen) < policy.latest
                           : std::ranges::count(policy.numbers, version->number) > 0;
    if (named) chosen.insert(chosen.begin(), *version);
  }
  if (there.empty()) throw Error(Format("{}: no version is in this folder any more", where));
  if (chosen.empty())
    throw Error(Format("{}: none of the versions that --versions names is there any more, but {}",
                       where, Listed(there)));
  return chosen;
}

}  // namespace tessera::serve
