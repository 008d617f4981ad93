#ifndef TESSERA_TRAIN_CHECKPOINT_SAVED_FORM_H_
#define TESSERA_TRAIN_CHECKPOINT_SAVED_FORM_H_
// The forms in which a model lies on disk, told apart by what is there, not by what it is called.
// ReadCheckpoint (checkpoint.h) opens those that are checkpoints; docs/saved_models.md says what
// each command does with each.
#include <optional>
#include <string>

#include "runtime/base/check.h"

namespace tessera {

struct Checkpoint;

enum class SavedForm {
  kFile,            // a safetensors file: of a training, or a state dict of TorchRec's
  kIncremental,     // a folder of a base and changes (checkpoint_files.h)
  kRanks,           // a folder of ranks (sharding/checkpoint/checkpoint.h)
  kRankChains,      // a folder of incremental checkpoints of ranks (rank_chain.h)
  kModelDirectory,  // what is served (serve/model_spec.h), or versions of it (version_folders.h)
  kPyTorchFolder,   // of torch.distributed.checkpoint
};

// Returns the form of a saved model; a path that is no folder is taken as a file. Throws Error for
// a path that does not exist, a file that is no safetensors file, and a folder that is none of
// these.
SavedForm DetectForm(const std::string& path);
// Returns the form of a folder; absent if there is no saved model in it.
std::optional<SavedForm> FormIn(const std::string& folder);

// Throws Error where a saved model of another form lies in the folder: `saves` is what would be
// written beside it.
void CheckSavesInto(const std::string& folder, SavedForm saves);

// Whether ReadCheckpoint opens it.
bool IsCheckpoint(SavedForm form);
// Whether OpenFolderOfRanks (whole_tables.h) opens it.
bool IsOfRanks(SavedForm form);

// "a folder that ranks saved".
std::string Described(SavedForm form);

// Metadata of a file that SaveCheckpoint (model_checkpoint.h) wrote: it has the tensors' names of a
// program's own model, and no configuration.
inline constexpr char kSavedBy[] = "saved_by", kSaveCheckpoint[] = "SaveCheckpoint";
bool IsOfProgram(const Checkpoint& checkpoint);

// Makes the error for a checkpoint without a configuration, where a command needs one.
Error NoConfiguration(const std::string& path, bool of_program);

// Makes the error for a path whose form is no checkpoint: it says what the path is, and what to do
// first.
Error NoCheckpoint(const std::string& path, SavedForm form);

}  // namespace tessera
#endif  // TESSERA_TRAIN_CHECKPOINT_SAVED_FORM_H_
