#include "comm/leader.h"

#include <algorithm>

#include "runtime/base/hash.h"

namespace tessera {
namespace {

constexpr char kResult = 'r', kFailure = 'f';
// Longer lines are named by size and hash, and not shown.
constexpr size_t kShown = 120;

std::string SizeAndHash(std::string_view text) {
  return Format("{} bytes with hash {:016x}", text.size(), internal::HashOf(text));
}

std::string Summary(std::string_view line) {
  return line.size() <= kShown ? Format("\"{}\"", line) : SizeAndHash(line);
}

// The line of `text` in which it first differs from `other`, another text.
std::string_view FirstDifferentLine(std::string_view text, std::string_view other) {
  const auto same = std::mismatch(text.begin(), text.end(), other.begin(), other.end()).first;
  const auto differs = static_cast<size_t>(same - text.begin());
  const size_t before = differs == 0 ? text.npos : text.rfind('\n', differs - 1);
  const size_t begin = before == text.npos ? 0 : before + 1;
  return text.substr(begin, text.find('\n', begin) - begin);
}

std::string RunGuarded(const std::function<std::string()>& fn) {
  try {
    return kResult + fn();
  } catch (const std::exception& error) {
    return kFailure + std::string(error.what());
  } catch (...) {
    return kFailure + std::string("an exception that is no std::exception");
  }
}

}  // namespace

std::vector<std::string> GatherResultsSync(Communicator& comm, std::string_view what,
                                           const std::function<std::string()>& fn) {
  std::vector<std::string> results = comm.GatherStringsSync(RunGuarded(fn), what);
  for (size_t r = 0; r < results.size(); ++r) {
    if (results[r][0] == kFailure)
      throw Error(Format("{} on rank {}: {}", what, r, results[r].substr(1)));
    results[r].erase(0, 1);
  }
  return results;
}

void ThrowTogetherSync(Communicator& comm, const std::string& wrong) {
  const std::vector<std::string> all = comm.GatherStringsSync(wrong, "what is wrong");
  const auto first =
      std::find_if(all.begin(), all.end(), [](const std::string& text) { return !text.empty(); });
  if (first == all.end()) return;
  const bool alike = std::count(all.begin(), all.end(), *first) == std::ssize(all);
  throw ErrorOfAllRanks(alike ? *first : Format("rank {}: {}", first - all.begin(), *first));
}

void CallAlikeSync(Communicator& comm, const std::function<void()>& fn) {
  const std::string result = RunGuarded([&] {
    fn();
    return std::string();
  });
  ThrowTogetherSync(comm, result[0] == kFailure ? result.substr(1) : "");
}

std::string InvokeOnRankAndBroadcastBytes(Communicator& comm, int rank, std::string_view what,
                                          const std::function<std::string()>& fn) {
  TESSERA_CHECK(rank >= 0 && rank < comm.size(), "{} on rank {} of {}", what, rank, comm.size());
  const auto if_asked = [&] { return comm.rank() == rank ? fn() : std::string(); };
  return GatherResultsSync(comm, what, if_asked)[static_cast<size_t>(rank)];
}

void CheckSameOnAllRanks(Communicator& comm, std::string_view name, std::string_view text) {
  const std::vector<std::string> hashes = comm.GatherStringsSync(SizeAndHash(text), name);
  std::string others;
  size_t first = 0;
  for (size_t r = 1; r < hashes.size(); ++r) {
    if (hashes[r] == hashes[0]) continue;
    if (first == 0) first = r;
    others += (others.empty() ? "" : ", ") + std::to_string(r);
  }
  if (first == 0) return;
  const std::vector<std::string> all = comm.GatherStringsSync(std::string(text), name);
  TESSERA_FAIL(
      "{}: not the same on all ranks: rank 0 has {}, rank {} has {} (ranks that differ from rank "
      "0: {})",
      name, Summary(FirstDifferentLine(all[0], all[first])), first,
      Summary(FirstDifferentLine(all[first], all[0])), others);
}

}  // namespace tessera
