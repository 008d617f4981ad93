#ifndef TESSERA_DATA_FILES_RATINGS_H_
#define TESSERA_DATA_FILES_RATINGS_H_
// MovieLens ratings, a line each, in the layout of any of its releases, plain or gzip:
//
//   u.data (100K)              user, item, rating and time, separated by tabs
//   ratings.dat (1M, 10M)      user::item::rating::time
//   ratings.csv (20M, 25M, …)  a heading that begins with userId, then user,item,rating,time
//   of 9 columns or more       rating, user and item, then what is known of both; tabs; no time
//
// A rating is 0.5 to 5, a time is in seconds since 1970.
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "data/batch_builder.h"
#include "data/row_table.h"
#include "runtime/context.h"

namespace tessera {

struct Rating {
  static constexpr int64_t kNoTime = -1;

  int64_t user = 0, item = 0;
  float rating = 0;
  int64_t time = kNoTime;

  friend bool operator==(const Rating&, const Rating&) = default;
};

// All ratings, in file order. Each file's first line says its layout. Throws Error "FILE:LINE: what
// was expected, what came".
std::vector<Rating> ReadRatings(const std::vector<std::string>& paths);

// Throws Error for other features than "userId" and "movieId".
void CheckRatingFeature(const std::string& feature);

// Ratings as rows: the features "userId" and "movieId", TorchRec's names, ids mod rows of the
// tables, or raw; one dense feature that is always 0; the rating as label, or, with `like_from`
// above 0, 1 for ratings from there on and 0 below; and times, where all have one. Ids that are no
// row of their table are counted.
class RatingRows final : public RowTable {
 public:
  // Throws Error for other features.
  RatingRows(std::vector<Rating> ratings, const std::vector<CategoricalFeature>& features,
             float like_from);

  int64_t rows() const override { return static_cast<int64_t>(ratings_.size()); }
  Batch Gather(Context& ctx, std::span<const int64_t> rows) const override;

 private:
  struct Column {
    int64_t Rating::*id;
    int64_t rows;  // hash size
  };
  std::vector<Rating> ratings_;
  std::vector<std::string> keys_;
  std::vector<Column> columns_;
  float like_from_;
  bool has_times_;
};

}  // namespace tessera
#endif  // TESSERA_DATA_FILES_RATINGS_H_
