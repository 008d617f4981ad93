#ifndef TESSERA_CLI_SHOW_SPLIT_TEXT_H_
#define TESSERA_CLI_SHOW_SPLIT_TEXT_H_
// Says how the rows of a data set are split, and how many each part has, as far as that is known.
#include <optional>
#include <string>

#include "cli/show/log.h"
#include "data/split/row_split.h"
#include "data/split/split_counts.h"
#include "runtime/json/json_object.h"

namespace tessera::cli {

// "split by user, 10 % of its ids for evaluation (seed 1): 3,600 rows of 270 ids to train on, 400
// of 30 for evaluation", a line; "" where rows are not split.
std::string SplitText(const std::optional<SplitOptions>& split, const SplitCounts& counts);

// Keys of the log's line: "split", in words, and "train_rows", "train_ids", "eval_rows" and
// "eval_ids" as far as they are known.
LogFields SplitFields(const SplitOptions& split, const SplitCounts& counts);

// Adds "split": {the keys of the configuration, and "train_rows", "train_ids", "eval_rows",
// "eval_ids" as far as they are known}; nothing where rows are not split.
void AddSplit(const std::optional<SplitOptions>& split, const SplitCounts& counts,
              internal::Json& json);

}  // namespace tessera::cli
#endif  // TESSERA_CLI_SHOW_SPLIT_TEXT_H_
