#include "examples/two_tower/recall.h"

#include <algorithm>
#include <numeric>

namespace tessera::two_tower {

std::vector<int64_t> TopItems(std::span<const float> scores, size_t k,
                              std::span<const int64_t> without) {
  std::vector<bool> left_out(scores.size());
  for (const int64_t item : without) left_out[static_cast<size_t>(item)] = true;
  std::vector<int64_t> items;
  for (size_t i = 0; i < scores.size(); ++i)
    if (!left_out[i]) items.push_back(static_cast<int64_t>(i));
  k = std::min(k, items.size());
  const auto better = [&](int64_t a, int64_t b) {
    const float x = scores[static_cast<size_t>(a)], y = scores[static_cast<size_t>(b)];
    return x > y || (x == y && a < b);
  };
  std::partial_sort(items.begin(), items.begin() + static_cast<int64_t>(k), items.end(), better);
  items.resize(k);
  return items;
}

double RecallAt(const Likes& likes, size_t k,
                const std::function<std::span<const float>(int64_t)>& scores_of) {
  double sum = 0;
  int64_t users = 0;
  for (int64_t user = 0; user < likes.num_users(); ++user) {
    const auto& wanted = likes.held_out[static_cast<size_t>(user)];
    if (wanted.empty()) continue;
    const auto top = TopItems(scores_of(user), k, likes.known[static_cast<size_t>(user)]);
    const auto hits = std::count_if(top.begin(), top.end(), [&](int64_t item) {
      return std::find(wanted.begin(), wanted.end(), item) != wanted.end();
    });
    sum += static_cast<double>(hits) / static_cast<double>(wanted.size());
    ++users;
  }
  return users == 0 ? 0 : sum / static_cast<double>(users);
}

}  // namespace tessera::two_tower
