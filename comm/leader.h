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

// The next three throw ErrorOfAllRanks. REQUIRES: `comm` has all ranks that were started; every
// rank calls.
//
// Throws on every rank if `wrong` is not empty on any: the text itself if it is the same on all
// ranks, else the first such rank and its text.
void ThrowTogetherSync(Communicator& comm, const std::string& wrong);
// Calls fn; if it throws on any rank, every rank throws as ThrowTogetherSync does. REQUIRES: ranks
// do not wait for each other in fn.
void CallAlikeSync(Communicator& comm, const std::function<void()>& fn);
// Returns fn(). REQUIRES: fn throws on all ranks or on none.
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
// library): says which ranks have another one than rank 0, and shows the first line that differs,
// or, if that is long, its size and hash. Every rank calls. `name` is the same on all.
void CheckSameOnAllRanks(Communicator& comm, std::string_view name, std::string_view text);

}  // namespace tessera
#endif  // TESSERA_COMM_LEADER_H_
