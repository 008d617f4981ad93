#include "examples/two_tower/split.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "tessera/data/row_order.h"

namespace tessera::two_tower {
namespace {

constexpr size_t kFewest = 5, kHeldOut = 5;  // likes of a user; one of so many is held out

// Numbers ids from 0 as they come.
class Numbering {
 public:
  explicit Numbering(std::vector<int64_t>& ids) : ids_(ids) {}
  int64_t Of(int64_t id) {
    const auto [entry, is_new] = numbers_.emplace(id, static_cast<int64_t>(ids_.size()));
    if (is_new) ids_.push_back(id);
    return entry->second;
  }

 private:
  std::vector<int64_t>& ids_;
  std::unordered_map<int64_t, int64_t> numbers_;
};

// Likes in the order in which the last ones are held out.
std::vector<Rating> InOrder(const std::vector<Rating>& likes, bool by_time, uint64_t seed) {
  std::vector<int64_t> order(likes.size());
  std::iota(order.begin(), order.end(), 0);
  if (by_time)
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
      return likes[static_cast<size_t>(a)].time < likes[static_cast<size_t>(b)].time;
    });
  else
    Shuffle(seed, 0, order);
  std::vector<Rating> ordered;
  for (const int64_t i : order) ordered.push_back(likes[static_cast<size_t>(i)]);
  return ordered;
}

}  // namespace

Likes SplitLikes(std::vector<Rating> ratings, float like_from, uint64_t seed) {
  std::erase_if(ratings, [&](const Rating& r) { return r.rating < like_from; });
  Likes likes;
  likes.by_time = std::all_of(ratings.begin(), ratings.end(),
                              [](const Rating& r) { return r.time != Rating::kNoTime; });
  Numbering users(likes.user_ids), items(likes.item_ids);
  for (const Rating& r : InOrder(ratings, likes.by_time, seed)) {
    const auto user = static_cast<size_t>(users.Of(r.user));
    const int64_t item = items.Of(r.item);
    if (user == likes.known.size()) likes.known.emplace_back();
    likes.known[user].push_back(item);
  }
  likes.held_out.resize(likes.known.size());
  likes.popularity.resize(likes.item_ids.size());
  for (size_t user = 0; user < likes.known.size(); ++user) {
    auto& known = likes.known[user];
    const size_t out = known.size() < kFewest ? 0 : known.size() / kHeldOut;
    const auto first_out = known.end() - static_cast<int64_t>(out);
    likes.held_out[user].assign(first_out, known.end());
    known.erase(first_out, known.end());
    for (const int64_t item : known) {
      likes.users.push_back(static_cast<int64_t>(user));
      likes.items.push_back(item);
      ++likes.popularity[static_cast<size_t>(item)];
    }
  }
  return likes;
}

}  // namespace tessera::two_tower
