#include "train/checkpoint/checkpoint_files.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <string_view>

#include "runtime/atomic_file.h"
#include "runtime/check.h"
#include "runtime/files.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kBase = ".base.safetensors", kDelta = ".delta.safetensors",
                           kUnfinished = ".tmp";

// At least eight.
std::string Digits(int64_t number) {
  std::string digits = std::to_string(number);
  return digits.insert(0, 8 - std::min<size_t>(8, digits.size()), '0');
}

std::string Numbered(const std::string& folder, int64_t number, std::string_view suffix) {
  return PathIn(folder, Digits(number) + std::string(suffix));
}

// The number before the suffix; 0 for names that Numbered does not make of a number above 0.
int64_t NumberOf(std::string_view name, std::string_view suffix) {
  if (!name.ends_with(suffix)) return 0;
  name.remove_suffix(suffix.size());
  int64_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  return error == std::errc() && number > 0 && Digits(number) == name ? number : 0;
}

// Whether each is a base, by number.
std::map<int64_t, bool> NumbersIn(const std::string& folder) {
  std::map<int64_t, bool> numbers;
  for (const fs::directory_entry& file : fs::directory_iterator(folder)) {
    const std::string name = file.path().filename().string();
    if (const int64_t base = NumberOf(name, kBase); base > 0) numbers[base] = true;
    // A base of the same number has all of the delta.
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
  fs::remove(path, error);
  if (error) throw Error(Format("{}: cannot be removed: {}", path, error.message()));
}

}  // namespace

std::string BasePath(const std::string& folder, int64_t number) {
  return Numbered(folder, number, kBase);
}
std::string DeltaPath(const std::string& folder, int64_t number) {
  return Numbered(folder, number, kDelta);
}

bool IsCheckpointFolder(const std::string& path) {
  return fs::is_directory(path) && !NumbersIn(path).empty();
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
  if (!fs::is_directory(folder)) throw Error(Format("{}: there is no such folder", folder));
  const std::vector<ChainFiles> chains = ListChains(folder);
  if (chains.empty())
    throw Error(
        Format("{}: there is no base checkpoint in it (such as {})", folder, BasePath("", 1)));
  return chains.back();
}

int64_t NextNumber(const std::string& folder) {
  const std::map<int64_t, bool> numbers = NumbersIn(folder);
  return numbers.empty() ? 1 : numbers.rbegin()->first + 1;
}

void RemoveUnfinished(const std::string& folder) {
  RemoveLeftovers(folder);
  std::vector<std::string> unfinished;
  for (const fs::directory_entry& file : fs::directory_iterator(folder)) {
    std::string name = file.path().filename().string();
    if (!name.ends_with(kUnfinished)) continue;
    name.resize(name.size() - kUnfinished.size());
    if (NumberOf(name, kBase) > 0 || NumberOf(name, kDelta) > 0)
      unfinished.push_back(file.path().string());
  }
  for (const std::string& path : unfinished) Remove(path);
}

void RemoveOldChains(const std::string& folder, int64_t keep) {
  const std::vector<ChainFiles> chains = ListChains(folder);
  if (chains.empty()) return;
  const int64_t kept = std::min<int64_t>(keep, std::ssize(chains) - 1) + 1;
  const int64_t first_kept = chains[chains.size() - static_cast<size_t>(kept)].base;
  const std::map<int64_t, bool> numbers = NumbersIn(folder);
  for (auto file = numbers.rbegin(); file != numbers.rend(); ++file) {
    const auto& [number, is_base] = *file;
    if (number >= first_kept) continue;
    Remove(is_base ? BasePath(folder, number) : DeltaPath(folder, number));
  }
}

}  // namespace tessera
