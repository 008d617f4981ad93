#include "serve/versions/version_policy.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

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

// "1,3": versions among which one answers what `share` leaves: the share's, those that are named,
// and, if none of them does, the newest that does. "" where there is no such version.
std::string WithAnother(const VersionPolicy& named, const std::vector<VersionFolder>& there,
                        int64_t share) {
  std::set<int64_t> numbers = {share};
  for (const int64_t number : named.numbers)
    if (FindVersion(there, number) != nullptr) numbers.insert(number);
  const auto answers = [&](int64_t number) { return !named.IsTried(number); };
  for (auto version = there.rbegin(); version != there.rend(); ++version)
    if (std::ranges::none_of(numbers, answers) && answers(version->number))
      numbers.insert(version->number);
  if (std::ranges::none_of(numbers, answers)) return "";
  std::string text;
  for (const int64_t number : numbers) text += (text.empty() ? "" : ",") + std::to_string(number);
  return text;
}

// Throws Error for a share whose version is not named, or without another one beside it.
[[noreturn]] void ThrowBadShare(const std::string& share, int64_t version,
                                const VersionPolicy& by_folder,
                                const std::vector<VersionFolder>& there, const std::string& where) {
  if (there.empty())
    throw Error(Format("{}: {} is no folder of versions (tessera quantize --keep makes one)", share,
                       where));
  const VersionFolder* const own = FindVersion(there, version);
  if (own == nullptr)
    throw Error(Format("{}: {}: there is no version {}, but {}", share, where, version,
                       ListedVersions(there)));
  const std::string named = WithAnother(by_folder, there, own->number);
  if (named.empty())
    throw Error(
        Format("{}: {} has no other version, which would answer the other requests: leave this "
               "flag out until tessera quantize has written one",
               share, where));
  throw Error(
      Format("{}: expected --versions with the numbers of this version and of one that answers the "
             "other requests, such as --versions {}",
             share, named));
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

VersionPolicy ByFolders(VersionPolicy policy, const std::vector<VersionFolder>& there) {
  const auto to_folder = [&](int64_t& number) {
    if (const VersionFolder* const version = FindVersion(there, number)) number = version->number;
  };
  std::ranges::for_each(policy.numbers, to_folder);
  std::ranges::sort(policy.numbers);
  to_folder(policy.canary.version);
  to_folder(policy.shadow.version);
  return policy;
}

void CheckShares(const VersionPolicy& policy, const std::vector<VersionFolder>& there,
                 const std::string& where) {
  const VersionPolicy by_folder = ByFolders(policy, there);
  const TrafficShare &canary = policy.canary, &shadow = policy.shadow;
  if (canary.version != 0 && by_folder.canary.version == by_folder.shadow.version)
    throw Error(Format("version {} is the --canary and the --shadow; expected two versions",
                       canary.version));
  int64_t others = 0;
  for (const int64_t number : by_folder.numbers) others += by_folder.IsTried(number) ? 0 : 1;
  if (policy.numbers.size() == 2 && others == 0)
    throw Error(
        Format("--canary {}:{} beside --shadow {}:{}: no version of --versions {},{} answers the "
               "other requests: name a third one, or leave one of these flags out",
               canary.version, canary.percent, shadow.version, shadow.percent, policy.numbers[0],
               policy.numbers[1]));
  const auto check = [&](const char* flag, const TrafficShare& given, int64_t number) {
    const bool named = std::ranges::count(by_folder.numbers, number) > 0;
    if (given.version != 0 && (!named || others == 0))
      ThrowBadShare(Format("--{} {}:{}", flag, given.version, given.percent), given.version,
                    by_folder, there, where);
  };
  check("canary", canary, by_folder.canary.version);
  check("shadow", shadow, by_folder.shadow.version);
}

void CheckAreThere(const VersionPolicy& policy, const std::vector<VersionFolder>& there,
                   const std::string& where) {
  std::map<const VersionFolder*, int64_t> found;
  for (const int64_t number : policy.numbers) {
    const VersionFolder* const version = FindVersion(there, number);
    if (version == nullptr)
      throw Error(
          Format("{}: there is no version {}, but {}", where, number, ListedVersions(there)));
    const auto [at, is_new] = found.emplace(version, number);
    if (!is_new)
      throw Error(Format("{}: {} and {} are one version, {}: name it once", where, at->second,
                         number, ListedVersions({*version})));
  }
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
                       where, ListedVersions(there)));
  return chosen;
}

}  // namespace tessera::serve
