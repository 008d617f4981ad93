#ifndef TESSERA_CLI_LAUNCH_SAVED_TRAINING_H_
#define TESSERA_CLI_LAUNCH_SAVED_TRAINING_H_
// The checkpoint of a training that tessera launch starts, and the words that it goes on with.
#include <optional>
#include <string>
#include <vector>

#include "cli/train/flags/train_command_flags.h"
#include "train/checkpoint/checkpoint.h"

namespace tessera::cli {

// The flags of a tessera train, as words and as they were read.
struct TrainWords {
  std::vector<std::string> words;  // after "train"
  TrainFlags flags;

  // The folder of the checkpoints: that of --checkpoint or --run; "" without either.
  std::string Checkpoint() const;
};

class SavedTraining {
 public:
  // Looks at what is there before the first start, which is not this training's.
  explicit SavedTraining(const TrainWords& train);

  // Where the last checkpoint that was saved since then stands; absent if there is none.
  std::optional<TrainingProgress> Progress() const;

  // The words for the start after the loss of a rank. With a checkpoint since then: --resume from
  // it, in place of an earlier --resume and of --overwrite, which would cut files of lines. Without
  // one the words that began it, with --overwrite where the start before made all that is there.
  std::vector<std::string> NextWords() const;

  // The part of a sentence that says how a user goes on.
  std::string HowToGoOn() const;

 private:
  bool Saved() const;

  TrainWords train_;
  std::string mark_before_;
  bool was_empty_;  // there was nothing where the training writes
};

}  // namespace tessera::cli
#endif  // TESSERA_CLI_LAUNCH_SAVED_TRAINING_H_
