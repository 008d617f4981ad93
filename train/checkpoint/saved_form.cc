#include "train/checkpoint/saved_form.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <vector>

#include "data/files/row_folder.h"
#include "runtime/files/files.h"
#include "runtime/files/safetensors.h"
#include "sharding/checkpoint/checkpoint_index.h"
#include "sharding/checkpoint/checkpoint_writer.h"
#include "train/checkpoint/checkpoint.h"
#include "train/checkpoint/checkpoint_files.h"
#include "train/checkpoint/kept_checkpoints.h"
#include "train/checkpoint/version_folders.h"

namespace tessera {
namespace {

constexpr char kPyTorchName[] = ".metadata";  // torch.distributed.checkpoint

// "runs/a/best.safetensors, runs/a/last.safetensors": the saved models that lie in a folder, such
// as that of a run; at most four.
std::string ModelsIn(const std::string& folder) {
  std::vector<std::string> models;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    const bool is_model = entry.is_directory(error) ? FormIn(entry.path().string()).has_value()
                                                    : entry.path().extension() == ".safetensors";
    if (is_model) models.push_back(entry.path().string());
  }
  std::ranges::sort(models);
  std::string text;
  for (size_t i = 0; i < std::min<size_t>(4, models.size()); ++i)
    text += (i == 0 ? "" : ", ") + models[i];
  return text;
}

// Throws Error for files of ranks without an index.
void CheckNoPartsAlone(const std::string& folder) {
  if (!HoldsParts(folder)) return;
  const std::vector<KeptCheckpoint> kept = KeptBeside(folder);
  throw Error(Format(
      "{}: ranks have written files into this folder, but no save of it is complete: {} is "
      "missing, which the first save writes last; begin the training anew{}",
      folder, kIndexName, kept.empty() ? "" : Format(", or go on from {}", kept.back().path)));
}

// Throws Error for weights of a model directory without its model.json, which is written last.
void CheckNoWeightsAlone(const std::string& folder) {
  for (const std::string& name : EntriesOf(folder))
    if (name.starts_with("weights-") && name.ends_with(".safetensors"))
      throw Error(Format(
          "{}: it is missing, but {} is there: this model directory was never whole, or has lost "
          "it; tessera quantize CHECKPOINT -o {} makes a new one",
          PathIn(folder, kModelName), PathIn(folder, name), folder));
}

}  // namespace

std::optional<SavedForm> FormIn(const std::string& folder) {
  const auto has = [&](const char* name) { return IsThere(PathIn(folder, name)); };
  if (IsCheckpointFolder(folder)) return SavedForm::kIncremental;
  if (!SavesOfRanks(folder).empty()) return SavedForm::kRankChains;
  if (has(kIndexName) && !IsRowFolder(folder)) return SavedForm::kRanks;
  if (has(kModelName) || HoldsVersions(folder)) return SavedForm::kModelDirectory;
  if (has(kPyTorchName)) return SavedForm::kPyTorchFolder;
  return std::nullopt;
}

SavedForm DetectForm(const std::string& path) {
  if (!IsThere(path))
    throw Error(Format("{}: cannot be read: there is no such file or folder", path));
  if (!IsFolder(path)) {
    SafetensorsFile file(path);  // a text is called none
    return SavedForm::kFile;
  }
  if (const std::optional<SavedForm> form = FormIn(path)) return *form;
  if (IsRowFolder(path))
    throw Error(Format(
        "{}: it is a folder of rows that tessera preprocess wrote: expected a saved model", path));
  CheckHasVersionsLeft(path);
  CheckNoPartsAlone(path);
  CheckNoWeightsAlone(path);
  if (const std::string models = ModelsIn(path); !models.empty())
    throw Error(
        Format("{}: it is no saved model itself; name one of those in it: {}", path, models));
  throw Error(
      Format("{}: there is no saved model in this folder: expected a checkpoint of ranks ({}) or "
             "of tessera train --incremental (00000001.base.safetensors), or a model directory ({} "
             "and the weights that it names), which tessera quantize CHECKPOINT -o DIR makes",
             path, kIndexName, kModelName));
}

void CheckSavesInto(const std::string& folder, SavedForm saves) {
  const std::optional<SavedForm> there = FormIn(folder);
  if (there && *there != saves)
    throw Error(Format("{}: it is {}, but this saves {}: name another path", folder,
                       Described(*there), Described(saves)));
}

bool IsOfRanks(SavedForm form) {
  return form == SavedForm::kRanks || form == SavedForm::kRankChains;
}

bool IsCheckpoint(SavedForm form) {
  return form != SavedForm::kModelDirectory && form != SavedForm::kPyTorchFolder;
}

std::string Described(SavedForm form) {
  switch (form) {
    case SavedForm::kFile:
      return "a checkpoint in one file";
    case SavedForm::kIncremental:
      return "a folder of tessera train --incremental";
    case SavedForm::kRanks:
      return "a folder that ranks saved";
    case SavedForm::kRankChains:
      return "a folder of tessera train --incremental on ranks";
    case SavedForm::kModelDirectory:
      return "a model directory of tessera quantize";
    case SavedForm::kPyTorchFolder:
      return "a folder of torch.distributed.checkpoint";
  }
  return "";
}

bool IsOfProgram(const Checkpoint& checkpoint) {
  const auto saved_by = checkpoint.metadata.find(kSavedBy);
  return saved_by != checkpoint.metadata.end() && saved_by->second == kSaveCheckpoint;
}

Error NoConfiguration(const std::string& path, bool of_program) {
  return Error(Format("{}: it does not say what the model is: {}", path,
                      of_program ? "a program saved it by SaveCheckpoint, and reads it by "
                                   "LoadCheckpoint or LoadWeights"
                                 : "give --config FILE, its training configuration, too"));
}

Error NoCheckpoint(const std::string& path, SavedForm form) {
  const bool of_pytorch = form == SavedForm::kPyTorchFolder;
  return Error(Format(
      "{}: it is {}, {}", path, Described(form),
      of_pytorch
          ? Format("of which tools/dcp_to_safetensors.py {} FILE makes a checkpoint first", path)
          : "whose rows are encoded and which keeps nothing of the training: give the checkpoint "
            "that it was made of"));
}

}  // namespace tessera
