#include "cli/train/flags/keep_last.h"

#include <filesystem>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "runtime/base/check.h"
#include "runtime/files/atomic_file.h"
#include "train/checkpoint/kept_checkpoints.h"

namespace tessera::cli {

void CheckKeepLast(const TrainFlags& flags) {
  if (!flags.keep_last) return;
  if (flags.checkpoint.empty()) throw Error("--keep-last needs --checkpoint to say where");
  if (flags.incremental)
    throw Error(
        "--keep-last beside --incremental, whose folder keeps earlier saves by --keep-chains N: "
        "give that instead");
  if (IsStream(flags.checkpoint))
    throw Error(Format("--keep-last beside --checkpoint {}, which is no file: name a file",
                       flags.checkpoint));
  const std::pair<const char*, const std::string&> others[] = {{"--best", flags.evaluation.best},
                                                               {"--metrics", flags.metrics},
                                                               {"--tensorboard", flags.tensorboard},
                                                               {"--json", flags.json},
                                                               {"--trace", flags.trace},
                                                               {"--mllog", flags.evaluation.mllog}};
  for (const auto& [flag, path] : others)
    if (!path.empty() && IsKeptPath(flags.checkpoint, path))
      throw Error(
          Format("{} {} beside --keep-last, which gives such names to earlier checkpoints: "
                 "name another path",
                 flag, path));
}

bool GoesOnThere(const TrainFlags& flags, const std::optional<TrainingProgress>& from) {
  if (!from || flags.resume.empty() || flags.checkpoint.empty()) return false;
  std::error_code error;
  return std::filesystem::equivalent(flags.resume, flags.checkpoint, error) ||
         IsKeptPath(flags.checkpoint, flags.resume);
}

void CheckKeptBeside(const TrainFlags& flags, const std::optional<TrainingProgress>& from) {
  const bool keeps = !flags.checkpoint.empty() && !IsStream(flags.checkpoint) && !flags.incremental;
  if (!keeps || flags.overwrite || GoesOnThere(flags, from)) return;
  const std::vector<KeptCheckpoint> kept = KeptBeside(flags.checkpoint);
  if (kept.empty()) return;
  throw Error(
      Format("{}: it is there, kept by a training that this command does not go on from, and would "
             "be taken for an earlier checkpoint of this one: name another --checkpoint, or give "
             "--overwrite, which removes it",
             kept.front().path));
}

std::string RemovedText(const TrainFlags& flags, const std::optional<TrainingProgress>& from) {
  const bool removes = (flags.keep_last || flags.overwrite) && !flags.incremental;
  if (!removes || flags.checkpoint.empty() || IsStream(flags.checkpoint)) return "";
  std::string text;
  const bool goes_on = GoesOnThere(flags, from);
  for (const KeptCheckpoint& kept :
       KeptByOthers(flags.checkpoint, goes_on ? std::optional(from->step) : std::nullopt))
    text += (text.empty() ? "" : ", ") + kept.path;
  return text.empty() ? "" : text + ", kept by a training that this one does not go on from";
}

}  // namespace tessera::cli
