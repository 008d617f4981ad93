#ifndef TESSERA_EXAMPLES_TWO_TOWER_SPLIT_H_
#define TESSERA_EXAMPLES_TWO_TOWER_SPLIT_H_
// Ratings as what a two-tower model learns from: who likes what. A user's last likes are held out,
// to see whether they are predicted.
#include <cstdint>
#include <vector>

#include "tessera/data/files/ratings.h"

namespace tessera::two_tower {

// Users and items are numbered from 0, in the order in which they come first.
struct Likes {
  std::vector<int64_t> user_ids, item_ids;  // as in the file, by number

  std::vector<int64_t> users, items;           // pairs to train on
  std::vector<std::vector<int64_t>> known;     // items of the pairs, by user
  std::vector<std::vector<int64_t>> held_out;  // items, by user; maybe none
  std::vector<int64_t> popularity;             // pairs of each item
  bool by_time = false;                        // whether what is held out came last

  int64_t num_users() const { return static_cast<int64_t>(user_ids.size()); }
  int64_t num_items() const { return static_cast<int64_t>(item_ids.size()); }
};

// Ratings of `like_from` and above are likes. Of users with 5 or more, a fifth is held out: the
// last by time, or, where the file has no times, any, drawn by `seed`.
Likes SplitLikes(std::vector<Rating> ratings, float like_from, uint64_t seed);

}  // namespace tessera::two_tower
#endif  // TESSERA_EXAMPLES_TWO_TOWER_SPLIT_H_
