#include "cli/train/keep_last.h"

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
  if (!flags.keep_last || flags.overwrite || GoesOnThere(flags, from)) return;
  const std::vector<KeptCheckpoint> kept = KeptBeside(flags.checkpoint);
  if (kept.empty()) return;
  throw Error(
      Format("{}: it is there, kept by a training that this command does not go on from, and "
             "--keep-last would remove it: name another --checkpoint, or give --overwrite",
             kept.front().path));
}

}  // namespace tessera::cli
