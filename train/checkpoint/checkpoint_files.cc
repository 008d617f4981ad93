#include "train/checkpoint/checkpoint_files.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string_view>

#include "runtime/base/check.h"
#include "runtime/base/parse_number.h"
#include "runtime/files/atomic_file.h"
#include "runtime/files/files.h"

namespace tessera {
namespace {

constexpr std::string_view kBase = ".base.safetensors", kDelta = ".delta.safetensors",
                           kRanks = ".ranks.json", kRank = "rank-", kUnfinished = ".tmp";

std::string Numbered(const std::string& folder, int64_t number, std::string_view suffix) {
  return PathIn(folder, FileNumber(number) + std::string(suffix));
}

// The number before the suffix; 0 for names that Numbered never makes.
int64_t NumberOf(std::string_view name, std::string_view suffix) {
  if (!name.ends_with(suffix)) return 0;
  name.remove_suffix(suffix.size());
  int64_t number = 0;
  return ParseNumber(name, number) && number > 0 && FileNumber(number) == name ? number : 0;
}

// The numbers of files in a folder, and whether each is a base.
std::map<int64_t, bool> NumbersIn(const std::string& folder) {
  std::map<int64_t, bool> numbers;
  for (const std::string& name : EntriesOf(folder)) {
    if (const int64_t base = NumberOf(name, kBase); base > 0) numbers[base] = true;
    // A base of the same number includes the delta.
    if (const int64_t delta = NumberOf(name, kDelta); delta > 0) numbers.emplace(delta, false);
  }
  return numbers;
}

void CheckNoGap(const ChainFiles& chain) {
  for (size_t i = 0; i < chain.deltas.size(); ++i) {
    const int64_t expected = chain.base + static_cast<int64_t>(i) + 1;
    if (chain.deltas[i] != expected)
      throw Error(Format("{}: it is missing, but {} is there", DeltaPath(chain.folder, expected),
                         DeltaPath(chain.folder, chain.deltas[i])));
  }
}

void Remove(const std::string& path) {
  std::error_code error;
  std::filesystem::remove(path, error);
  if (error) throw Error(Format("{}: cannot be removed: {}", path, error.message()));
}

void RemoveNumbers(const std::string& folder, const std::function<bool(int64_t number)>& which) {
  const std::map<int64_t, bool> numbers = NumbersIn(folder);
  for (auto file = numbers.rbegin(); file != numbers.rend(); ++file) {
    const auto& [number, is_base] = *file;
    if (which(number)) Remove(is_base ? BasePath(folder, number) : DeltaPath(folder, number));
  }
}

// The n in "rank-n"; absent for other names.
std::optional<int64_t> RankOf(std::string_view name) {
  if (!name.starts_with(kRank)) return {};
  name.remove_prefix(kRank.size());
  int64_t rank = 0;
  if (!ParseNumber(name, rank) || rank < 0 || std::to_string(rank) != name) return {};
  return rank;
}

}  // namespace

std::string FileNumber(int64_t number) {
  std::string digits = std::to_string(number);
  return digits.insert(0, 8 - std::min<size_t>(8, digits.size()), '0');
}

std::string BasePath(const std::string& folder, int64_t number) {
  return Numbered(folder, number, kBase);
}
std::string DeltaPath(const std::string& folder, int64_t number) {
  return Numbered(folder, number, kDelta);
}

std::string RanksPath(const std::string& folder, int64_t number) {
  return Numbered(folder, number, kRanks);
}
std::string RankFolder(const std::string& folder, int64_t rank) {
  return PathIn(folder, std::string(kRank) + std::to_string(rank));
}

bool IsCheckpointFolder(const std::string& path) {
  return IsFolder(path) && !NumbersIn(path).empty();
}

std::vector<int64_t> SavesOfRanks(const std::string& folder) {
  std::vector<int64_t> saves;
  if (!IsFolder(folder)) return saves;
  for (const std::string& name : EntriesOf(folder))
    if (const int64_t n = NumberOf(name, kRanks); n > 0) saves.push_back(n);
  std::sort(saves.begin(), saves.end());
  return saves;
}

std::vector<int64_t> RanksIn(const std::string& folder) {
  std::vector<int64_t> ranks;
  for (const std::string& name : EntriesOf(folder))
    if (const auto rank = RankOf(name); rank && IsFolder(PathIn(folder, name)))
      ranks.push_back(*rank);
  std::sort(ranks.begin(), ranks.end());
  return ranks;
}

std::vector<ChainFiles> ListChains(const std::string& folder) {
  std::vector<ChainFiles> chains;
  for (const auto& [number, is_base] : NumbersIn(folder)) {
    if (is_base)
      chains.push_back({folder, number, {}});
    else if (!chains.empty())
      chains.back().deltas.push_back(number);
  }
  if (!chains.empty()) CheckNoGap(chains.back());
  return chains;
}

ChainFiles NewestChain(const std::string& folder) {
  if (!IsFolder(folder)) throw Error(Format("{}: there is no such folder", folder));
  const std::vector<ChainFiles> chains = ListChains(folder);
  if (chains.empty())
    throw Error(
        Format("{}: there is no base checkpoint in it (such as {})", folder, BasePath("", 1)));
  return chains.back();
}

ChainFiles ChainUpTo(const std::string& folder, int64_t number) {
  if (!IsFolder(folder))
    throw Error(Format("{}: it is missing; expected a folder with file {}", folder, number));
  ChainFiles chain{folder, 0, {}};
  for (const auto& [n, is_base] : NumbersIn(folder)) {
    if (n > number) break;
    if (is_base)
      chain = {folder, n, {}};
    else if (chain.base > 0)
      chain.deltas.push_back(n);
  }
  if (chain.base == 0)
    throw Error(Format("{}: there is no base checkpoint in it up to {}", folder, number));
  if (chain.last() != number) throw Error(Format("{}: it is missing", DeltaPath(folder, number)));
  CheckNoGap(chain);
  return chain;
}

int64_t NextNumber(const std::string& folder) {
  const std::map<int64_t, bool> numbers = NumbersIn(folder);
  return numbers.empty() ? 1 : numbers.rbegin()->first + 1;
}

void RemoveUnfinished(const std::string& folder) {
  RemoveLeftovers(folder);
  std::vector<std::string> unfinished;
  for (const std::string& name : EntriesOf(folder)) {
    if (!name.ends_with(kUnfinished)) continue;
    const std::string whole = name.substr(0, name.size() - kUnfinished.size());
    if (NumberOf(whole, kBase) > 0 || NumberOf(whole, kDelta) > 0)
      unfinished.push_back(PathIn(folder, name));
  }
  for (const std::string& path : unfinished) Remove(path);
}

void RemoveAfter(const std::string& folder, int64_t number) {
  RemoveNumbers(folder, [&](int64_t n) { return n > number; });
}

void RemoveBefore(const std::string& folder, int64_t number) {
  RemoveNumbers(folder, [&](int64_t n) { return n < number; });
}

void RemoveOldChains(const std::string& folder, int64_t keep) {
  const std::vector<ChainFiles> chains = ListChains(folder);
  if (chains.empty()) return;
  const int64_t kept = std::min<int64_t>(keep, std::ssize(chains) - 1) + 1;
  const int64_t first_kept = chains[chains.size() - static_cast<size_t>(kept)].base;
  RemoveBefore(folder, first_kept);
}

}  // namespace tessera
