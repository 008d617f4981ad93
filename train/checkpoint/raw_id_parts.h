#ifndef TESSERA_TRAIN_CHECKPOINT_RAW_ID_PARTS_H_
#define TESSERA_TRAIN_CHECKPOINT_RAW_ID_PARTS_H_
// Growing tables of a checkpoint in other parts by hash (sharding/plan/hash_parts.h) than they were
// saved in: in parts where they had none, so that ranks take them, in none, or in another number;
// and those that count ids before they are admitted otherwise.
//
//   an id        goes to its new part, with its row, what the rule remembers of it, count and time
//   rows         of each part: those that ids share, as they were in the old part that the new one
//                begins in; then those of its ids, in the order of their old rows; then new ones
//   many ids     a part with more ids than rows keeps those that evictions would free last
//   the sketch   that counts ids before they are admitted (admit_after) starts anew
//
// A row moves with its bits, so an id that keeps its row reads what it has learned.
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "train/checkpoint/checkpoint.h"
#include "train/config/train_config.h"

namespace tessera {

// A table whose ids went to other parts, whose shared rows are another number, or whose sketch has
// another size.
struct MovedIds {
  std::string table;
  int64_t num_parts = 0, num_parts_before = 0;      // 0: none
  int64_t shared_rows = 0, shared_rows_before = 0;  // those of a part that ids without one share
  int64_t ids = 0, without_row = 0;  // that were saved, and those of them that have no row now
  bool sketch_starts_anew = false;   // the one that counts ids now
};

// Gives rows first, first + 1, … of a table as a new training begins with them, in the table's
// type.
using NewRows =
    std::function<void(const std::string& table, int64_t first, int64_t count, void* bytes)>;

// Whether a growing table that a checkpoint's configuration has, too, has other parts now, or in
// parts another number of rows, or other shared rows, or a sketch of another size, which grows with
// the rows. Throws Error for text that is no JSON.
bool PartsDiffer(const std::string& saved_config, const TrainConfig& now);

// Shows a checkpoint as one of `now`, whose tables of raw ids differ from the checkpoint's in parts
// alone. It reads rows as they are asked for. Throws Error for state of raw ids that is missing or
// damaged.
Checkpoint WithParts(Checkpoint saved, const TrainConfig& now, const NewRows& new_rows,
                     std::vector<MovedIds>* moved);

}  // namespace tessera
#endif  // TESSERA_TRAIN_CHECKPOINT_RAW_ID_PARTS_H_
