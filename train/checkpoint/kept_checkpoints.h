#ifndef TESSERA_TRAIN_CHECKPOINT_KEPT_CHECKPOINTS_H_
#define TESSERA_TRAIN_CHECKPOINT_KEPT_CHECKPOINTS_H_
// Earlier checkpoints that stay beside the newest one, whether that is a file or a folder of ranks.
//
//   last.safetensors                 the newest
//   last.step-00001000.safetensors   an earlier one, of step 1000
//   last.step-00000500.safetensors
//
// An earlier one is a hard link, made before the newest is replaced: it takes no time, and the
// newest is there at every moment. Older ones go once a newer one is complete.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tessera {

struct KeptCheckpoint {
  int64_t step = 0;
  std::string path;
};

// Where the one of a step is kept.
std::string KeptPath(const std::string& checkpoint, int64_t step);
// Those that lie beside a checkpoint, by rising step.
std::vector<KeptCheckpoint> KeptBeside(const std::string& checkpoint);
// Those of them that are not of a training which goes on from step `past` of this checkpoint, or of
// one beside it: those of later steps, and without a past all. Its first save removes them.
std::vector<KeptCheckpoint> KeptByOthers(const std::string& checkpoint,
                                         std::optional<int64_t> past);
// Whether a path would be taken for one that is kept.
bool IsKeptPath(const std::string& checkpoint, const std::string& path);

class KeptCheckpoints {
 public:
  // keep: how many stay, the newest among them; absent: all that are of this training, which adds
  // none. past: the step that the training goes on from, where it was loaded from this checkpoint
  // or one beside it. KeptByOthers go when the first save is complete.
  KeptCheckpoints(std::string checkpoint, std::optional<int64_t> keep, std::optional<int64_t> past);

  // Around a save at a step; one process calls. Both throw Error, naming the path, when they can't.
  void BeforeSave(int64_t step) const;
  void AfterSave(int64_t step);

 private:
  std::string checkpoint_;
  std::optional<int64_t> keep_, last_;  // last: the step of the save before, of this training
};

}  // namespace tessera
#endif  // TESSERA_TRAIN_CHECKPOINT_KEPT_CHECKPOINTS_H_
