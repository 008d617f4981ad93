// tessera compact: one whole checkpoint of a base and the changes after it.
#include <cstdio>
#include <filesystem>
#include <memory>

#include "cli/command.h"
#include "cli/numbers.h"
#include "cli/outputs.h"
#include "train/checkpoint/checkpoint_chain.h"
#include "train/checkpoint/saved_form.h"

namespace tessera::cli {
namespace {

constexpr char kDescription[] =
    "Make one whole checkpoint of a folder of tessera train --incremental: in the folder, in place "
    "of the files of changes, or, with --out, as a file elsewhere.";

struct Flags {
  std::string folder, out;
  int64_t keep = 0;
  bool overwrite = false;
};

void CheckForm(const std::string& path) {
  const SavedForm form = FormOf(path);
  if (form == SavedForm::kIncremental) return;
  if (!IsCheckpoint(form)) throw NoCheckpoint(path, form);
  throw Error(Format("{}: it is {}, which is whole: tessera compact puts together what lies in {}",
                     path, Described(form), Described(SavedForm::kIncremental)));
}

int Compact(const Flags& flags) {
  CheckForm(flags.folder);
  Outputs outputs(flags.overwrite, {flags.folder});
  if (flags.out.empty())
    outputs.AddFolder(flags.folder, flags.folder);
  else
    outputs.AddFile(flags.out);
  const Checkpoint checkpoint = ReadChain(flags.folder);
  std::string path = flags.out;
  if (path.empty()) {
    path = CompactChain(flags.folder, flags.keep);
  } else {
    WriteWhole(checkpoint, path);
  }
  const int64_t deltas = checkpoint.chain->deltas;
  std::printf("%s: %s, a base and %lld %s of changes\n", path.c_str(),
              Bytes(static_cast<int64_t>(std::filesystem::file_size(path))).c_str(),
              static_cast<long long>(deltas), deltas == 1 ? "file" : "files");
  return 0;
}

}  // namespace

void AddCompactCommand(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("compact", kDescription);
  const auto f = std::make_shared<Flags>();
  command->add_option("folder", f->folder, "The folder of a tessera train --incremental")
      ->required()
      ->type_name("DIR");
  CLI::Option* out = command->add_option(
      "-o,--out", f->out, "Write the whole checkpoint to this file, and leave the folder as it is");
  out->type_name("FILE");
  command
      ->add_option("--keep-chains", f->keep,
                   "Keep so many earlier whole checkpoints with their files of changes; default 0")
      ->check(NumbersFrom(int64_t{0}, int64_t{1} << 40))
      ->excludes(out)
      ->type_name("N");
  AddOverwriteFlag(*command, f->overwrite);
  command->callback([f, &action] { action = [f] { return Compact(*f); }; });
}

}  // namespace tessera::cli
