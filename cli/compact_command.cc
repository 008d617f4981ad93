// tessera compact: makes one whole checkpoint of a base and the changes after it.
#include <cstdio>
#include <filesystem>
#include <memory>

#include "cli/changed_statistics.h"
#include "cli/command.h"
#include "cli/files.h"
#include "cli/outputs.h"
#include "cli/show/log.h"
#include "cli/show/numbers.h"
#include "runtime/files/files.h"
#include "train/checkpoint/checkpoint_chain.h"
#include "train/checkpoint/rank_chain.h"
#include "train/checkpoint/saved_form.h"
#include "train/checkpoint/whole_tables.h"

namespace tessera::cli {
namespace {

constexpr char kCompactDescription[] =
    "Make one whole checkpoint of a folder of tessera train --incremental: in the folder, in "
    "place of its deltas, or, with --out, as a file elsewhere.";

struct CompactFlags {
  std::string folder, out;
  int64_t keep = 0;
  bool overwrite = false;
};

void CheckForm(const std::string& path) {
  const SavedForm form = DetectForm(path);
  if (form == SavedForm::kIncremental || form == SavedForm::kRankChains) return;
  if (!IsCheckpoint(form)) throw NoCheckpoint(path, form);
  throw Error(Format("{}: it is {}, which is whole: tessera compact puts together what lies in {}",
                     path, Described(form), Described(SavedForm::kIncremental)));
}

// Compacts the chain, and returns what it has written: a file, or a folder of ranks.
std::string Written(const CompactFlags& flags, bool of_ranks) {
  if (!flags.out.empty()) {
    if (of_ranks) SayChangedStatistics(OpenRankChain(flags.folder).index());
    WriteWhole(ReadCheckpoint(flags.folder), flags.out);
    return flags.out;
  }
  if (!of_ranks) {
    ReadChain(flags.folder);  // checked before anything is written
    return CompactChain(flags.folder, flags.keep);
  }
  ReadFolderOfRanks(flags.folder);
  CompactRankChain(flags.folder, flags.keep);
  return flags.folder;
}

int64_t BytesOf(const std::string& path) {
  if (!IsFolder(path)) return BytesWritten(path);
  int64_t bytes = 0;
  for (const auto& file : std::filesystem::recursive_directory_iterator(path))
    if (file.is_regular_file()) bytes += static_cast<int64_t>(file.file_size());
  return bytes;
}

int Compact(const CompactFlags& flags) {
  CheckForm(flags.folder);
  Outputs outputs(flags.overwrite, {flags.folder});
  if (flags.out.empty())
    outputs.AddFolder(flags.folder, flags.folder);
  else
    outputs.AddFile(flags.out);
  const bool of_ranks = DetectForm(flags.folder) == SavedForm::kRankChains;
  const int64_t deltas = of_ranks ? PositionOfRanks(flags.folder).deltas
                                  : std::ssize(NewestChain(flags.folder).deltas);
  const std::string path = Written(flags, of_ranks);
  const int64_t bytes = BytesOf(path);
  Note(Format("{}: {}, a base and {} of changes{}", path, Bytes(bytes), Counted(deltas, "file"),
              of_ranks ? " a rank" : ""),
       {{"path", path}, {"bytes", bytes}, {"deltas", deltas}});
  return 0;
}

}  // namespace

void AddCompactCommand(Command app) {
  Command command = app.AddCommand("compact", kCompactDescription);
  const auto f = std::make_shared<CompactFlags>();
  command.Add("folder", f->folder, "The folder of a tessera train --incremental")
      .Required()
      .Value("DIR");
  Flag out = command.Add("-o,--out", f->out,
                         "Write the whole checkpoint to this file, and leave the folder as it is");
  out.Value("FILE");
  command
      .Add("--keep-chains", f->keep,
           "Keep the last N earlier whole checkpoints with their deltas (default 0)")
      .Within(NumbersFrom(int64_t{0}, int64_t{1} << 40))
      .Excludes(out)
      .Value("N");
  AddOverwriteFlag(command, f->overwrite);
  command.Run([f] { return Compact(*f); });
}

}  // namespace tessera::cli
