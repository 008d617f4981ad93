#include "comm/leader.h"

#include <optional>
#include <vector>

namespace tessera {
namespace {

constexpr char kResult = 'r', kFailure = 'f';
// Longer texts are compared by size and hash, and not shown.
constexpr size_t kShown = 120;

std::string Summary(std::string_view text) {
  if (text.size() <= kShown) return Format("\"{}\"", text);
  uint64_t hash = 14695981039346656037u;  // FNV-1a
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return Format("{} bytes with hash {:016x}", text.size(), hash);
}

std::string RunGuarded(const std::function<std::string()>& fn) {
  try {
    return kResult + fn();
  } catch (const std::exception& error) {
    return kFailure + std::string(error.what());
  } catch (...) {
    return std::string(1, kFailure) + "an exception that is no std::exception";
  }
}

}  // namespace

std::string InvokeOnRankAndBroadcastBytes(Communicator& comm, int rank, std::string_view what,
                                          const std::function<std::string()>& fn) {
  TESSERA_CHECK(rank >= 0 && rank < comm.size(), "{} on rank {} of {}", what, rank, comm.size());
  const std::string mine = comm.rank() == rank ? RunGuarded(fn) : std::string();
  const std::string result = comm.GatherStringsSync(mine, what)[static_cast<size_t>(rank)];
  if (result[0] == kFailure) throw Error(Format("{} on rank {}: {}", what, rank, result.substr(1)));
  return result.substr(1);
}

void CheckSameOnAllRanks(Communicator& comm, std::string_view name, std::string_view text) {
  const std::vector<std::string> all = comm.GatherStringsSync(Summary(text), name);
  std::string others;
  std::optional<size_t> first;
  for (size_t r = 1; r < all.size(); ++r) {
    if (all[r] == all[0]) continue;
    if (!first) first = r;
    others += (others.empty() ? "" : ", ") + std::to_string(r);
  }
  TESSERA_CHECK(!first,
                "{}: not the same on all ranks: rank 0 has {}, rank {} has {} (ranks that "
                "differ from rank 0: {})",
                name, all[0], first.value_or(0), all[first.value_or(0)], others);
}

}  // namespace tessera
