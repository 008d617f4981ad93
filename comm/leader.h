#ifndef TESSERA_COMM_LEADER_H_
#define TESSERA_COMM_LEADER_H_
// Work that one rank does for all ranks, and values that all ranks must agree on.
#include <cstring>
#include <functional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "comm/communicator.h"
#include "runtime/base/check.h"

namespace tessera {

// Gathers what fn returns on each rank; every rank gets all results. If it throws on any, every
// rank throws Error with what it said and the first such rank. `what` names the work. Every rank
// calls.
std::vector<std::string> GatherResultsSync(Communicator& comm, std::string_view what,
                                           const std::function<std::string()>& fn);

// These throw ErrorOfAllRanks. REQUIRES of all: the communicator of all ranks that were started;
// every rank calls.
//
// Throws what went wrong on the ranks ("": nothing on this one), if it did on any: what they all
// say, or else the first rank that says anything, and what.
void ThrowTogetherSync(Communicator& comm, const std::string& wrong);
// Calls fn, in which ranks do not wait for each other, and throws together what it throws.
void CallAlikeSync(Communicator& comm, const std::function<void()>& fn);
// Returns fn(), which throws on all ranks or on none.
template <typename Fn>
auto ThrowingAlike(Fn&& fn) {
  try {
    return fn();
  } catch (const CommunicatorAborted&) {
    throw;
  } catch (const Error& error) {
    throw ErrorOfAllRanks(error.what());
  }
}

// Calls fn on rank `rank` alone and returns its result on every rank. If it throws there, every
// rank throws Error with what it said and that rank. `what` names the work. Every rank calls.
std::string InvokeOnRankAndBroadcastBytes(Communicator& comm, int rank, std::string_view what,
                                          const std::function<std::string()>& fn);

// Like InvokeOnRankAndBroadcastBytes, for any function that returns a string or a trivially
// copyable value.
template <typename Fn>
auto InvokeOnRankAndBroadcastResult(Communicator& comm, int rank, std::string_view what, Fn&& fn) {
  using Result = std::decay_t<std::invoke_result_t<Fn&>>;
  if constexpr (std::is_convertible_v<Result, std::string>) {
    return InvokeOnRankAndBroadcastBytes(comm, rank, what, fn);
  } else {
    static_assert(std::is_trivially_copyable_v<Result>);
    const std::string bytes = InvokeOnRankAndBroadcastBytes(comm, rank, what, [&] {
      const Result value = fn();
      return std::string(reinterpret_cast<const char*>(&value), sizeof value);
    });
    Result value;
    TESSERA_CHECK_EQ(bytes.size(), sizeof value, "{}: bytes from rank {}", what, rank);
    std::memcpy(&value, bytes.data(), sizeof value);
    return value;
  }
}

// Throws Error, on every rank, unless every rank has the same `text` (a plan, the build of the
// library): says which ranks have another one than rank 0, and what both have, if that is short.
// Every rank calls. `name` is the same on all.
void CheckSameOnAllRanks(Communicator& comm, std::string_view name, std::string_view text);

}  // namespace tessera
#endif  // TESSERA_COMM_LEADER_H_
