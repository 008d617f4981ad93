#include "cli/launch/saved_training.h"

#include <algorithm>
#include <filesystem>

#include "cli/runs/run_folder.h"
#include "runtime/base/check.h"
#include "runtime/files/files.h"
#include "train/checkpoint/kept_checkpoints.h"
#include "train/checkpoint/saved_form.h"
#include "train/checkpoint/whole_tables.h"

namespace tessera::cli {
namespace {

namespace fs = std::filesystem;

// Tells one save in the folder from the next. Renaming a file of JSON into place is what makes a
// save the one that counts, in folders of ranks as in their incremental ones.
std::string MarkOf(const std::string& checkpoint) {
  std::vector<std::string> files;
  std::error_code none;
  for (const fs::directory_entry& entry : fs::directory_iterator(checkpoint, none))
    if (entry.path().extension() == ".json")
      files.push_back(Format("{} {}", entry.path().filename().string(),
                             int64_t{entry.last_write_time(none).time_since_epoch().count()}));
  std::ranges::sort(files);
  std::string mark;
  for (const std::string& file : files) mark += file + "\n";
  return mark;
}

// Whether there is a file with bytes, or a folder with files.
bool HoldsSomething(const std::string& path) {
  std::error_code none;
  return !path.empty() && fs::exists(path, none) && !fs::is_empty(path, none);
}

bool IsEmptyBefore(const TrainWords& train) {
  const std::string& best = train.flags.evaluation.best;
  return !HoldsSomething(train.Checkpoint()) && !HoldsSomething(best) &&
         !HoldsSomething(train.flags.metrics) && KeptBeside(train.Checkpoint()).empty();
}

// The words without a flag that takes a value, or takes none.
std::vector<std::string> Without(const std::string& flag, bool with_value,
                                 const std::vector<std::string>& words) {
  std::vector<std::string> left;
  for (size_t w = 0; w < words.size(); ++w) {
    if (words[w] == flag)
      w += with_value ? 1 : 0;
    else if (!words[w].starts_with(flag + "="))
      left.push_back(words[w]);
  }
  return left;
}

}  // namespace

std::string TrainWords::Checkpoint() const {
  return flags.run.empty() ? flags.checkpoint
                           : PathIn(flags.run, CheckpointName("last", /*is_folder=*/true));
}

SavedTraining::SavedTraining(const TrainWords& train)
    : train_(train), mark_before_(MarkOf(train.Checkpoint())), was_empty_(IsEmptyBefore(train)) {}

bool SavedTraining::Saved() const {
  const std::string mark = MarkOf(train_.Checkpoint());
  return mark != mark_before_ && FormIn(train_.Checkpoint()).has_value();
}

std::optional<TrainingProgress> SavedTraining::Progress() const {
  if (!Saved()) return {};
  return ParseProgress(OpenFolderOfRanks(train_.Checkpoint()).info().metadata);
}

std::vector<std::string> SavedTraining::NextWords() const {
  std::vector<std::string> words = train_.words;
  const TrainFlags& flags = train_.flags;
  if (Saved()) {
    words = Without("--overwrite", false, Without("--resume", true, words));
    if (flags.run.empty()) words.insert(words.end(), {"--resume", flags.checkpoint});
  } else if (was_empty_ && flags.resume.empty() && flags.run.empty() && !flags.overwrite) {
    words.emplace_back("--overwrite");
  }
  return words;
}

std::string SavedTraining::HowToGoOn() const {
  const TrainFlags& flags = train_.flags;
  if (!Saved()) return "no checkpoint was saved: the same command begins again";
  if (!flags.run.empty())
    return Format("the same command{} goes on", flags.overwrite ? " without --overwrite" : "");
  return Format("the same command with --resume {} among train's flags{} goes on", flags.checkpoint,
                flags.overwrite ? ", in place of --overwrite," : "");
}

}  // namespace tessera::cli
