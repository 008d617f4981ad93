#ifndef TESSERA_METRICS_STATE_SESSIONS_H_
#define TESSERA_METRICS_STATE_SESSIONS_H_
// Examples that belong together: those of one number.
#include <algorithm>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

namespace tessera {

// Calls fn(members) for each session, by rising number; members: its examples' indices, rising.
template <typename Fn>
void ForEachSession(std::span<const int64_t> sessions, Fn&& fn) {
  std::vector<int32_t> order(sessions.size());
  std::iota(order.begin(), order.end(), 0);
  const auto number = [&](int32_t i) { return sessions[static_cast<size_t>(i)]; };
  if (!std::is_sorted(sessions.begin(), sessions.end()))
    std::stable_sort(order.begin(), order.end(),
                     [&](int32_t a, int32_t b) { return number(a) < number(b); });
  for (size_t begin = 0, end = 0; begin < order.size(); begin = end) {
    while (end < order.size() && number(order[end]) == number(order[begin])) ++end;
    fn(std::span<const int32_t>(order).subspan(begin, end - begin));
  }
}

// Returns the indices by falling value, equal ones in their order.
template <typename T>
std::vector<int32_t> ByFallingValue(std::span<const int32_t> members, std::span<const T> values) {
  std::vector<int32_t> order(members.begin(), members.end());
  std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
    return values[static_cast<size_t>(a)] > values[static_cast<size_t>(b)];
  });
  return order;
}

}  // namespace tessera
#endif  // TESSERA_METRICS_STATE_SESSIONS_H_
