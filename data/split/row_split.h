#ifndef TESSERA_DATA_SPLIT_ROW_SPLIT_H_
#define TESSERA_DATA_SPLIT_ROW_SPLIT_H_
// Which rows of a data set are for training, and which for evaluation: decided row by row, by what
// the row is, so that every reader, rank and start decides alike. With U a number in [0, 1) by
// Philox, for evaluation are rows with
//
//   random   U(seed, n) < fraction, for row n of all files, bad lines counted
//   key      U(seed, k) < fraction, for the first id k of a feature, as the model reads it; rows
//            without an id lie on one side
//   time     time ≥ at
//
// A larger fraction keeps the rows of a smaller one for evaluation, and adds more.
#include <cstdint>
#include <optional>
#include <string>

namespace tessera {

enum class SplitBy { kRandom, kKey, kTime };
std::string ToString(SplitBy by);  // "random", "key", "time"

enum class RowPart { kAll, kTrain, kEval };
std::string ToString(RowPart part);  // "all", "train", "eval"
// Throws Error for other words.
RowPart ParseRowPart(const std::string& word);

struct SplitOptions {
  SplitBy by = SplitBy::kRandom;
  double fraction = 0.1;  // of rows, of ids, or of the last rows by time; above 0, below 1
  uint64_t seed = 1;
  std::string feature = {};        // of kKey
  std::optional<int64_t> at = {};  // of kTime; absent: the time at which the last fraction begins
  // `at` is the time at which the last `fraction` began in the rows that a training began with.
  bool at_was_found = false;

  friend bool operator==(const SplitOptions&, const SplitOptions&) = default;
};
// Whether the side of a row changes with the rows beside it: with its number, or with the time at
// which the last fraction of all rows begins.
bool GoesByOtherRows(const SplitOptions& options);
// "by user, 10 % of its ids for evaluation (seed 1)", "by time, rows from 17 on for evaluation".
std::string ToString(const SplitOptions& options);
// Where a training has found the time: "the time from which rows are for evaluation, 17, stays that
// of the last 10 % of the rows that the training began with"; else "".
std::string FoundTimeText(const SplitOptions& options);

// Whether the time of a split is only known once all times were read.
bool SeeksTime(const std::optional<SplitOptions>& split);
// Where the split seeks the time of the same fraction for which the saved one has found one, it
// takes that: other rows would give another.
void TakeFoundTime(const std::optional<SplitOptions>& saved, std::optional<SplitOptions>& split);
// Forgets a time that was found: the split seeks it again.
void ForgetFoundTime(std::optional<SplitOptions>& split);

// The rows of one part.
class RowFilter {
 public:
  // REQUIRES: one of the two parts; a split by time has its `at`.
  RowFilter(SplitOptions options, RowPart part);

  const SplitOptions& options() const { return options_; }
  SplitBy by() const { return options_.by; }
  // Whether the part has a row, which is told by what the split goes by alone.
  bool TakesNumber(int64_t number) const { return IsBelow(number) == is_eval_; }
  bool TakesFirstId(int64_t id) const { return IsBelow(id) == is_eval_; }
  bool TakesTime(int64_t time) const { return (time >= *options_.at) == is_eval_; }

 private:
  bool IsBelow(int64_t number) const;  // U(seed, number) < fraction

  SplitOptions options_;
  bool is_eval_;
  uint64_t limit_ = 0;  // fraction · 2^64
};

}  // namespace tessera
#endif  // TESSERA_DATA_SPLIT_ROW_SPLIT_H_
