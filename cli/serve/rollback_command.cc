// tessera rollback: takes back the newest versions in a folder of versions.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/show/log.h"
#include "runtime/base/check.h"
#include "runtime/base/joined.h"
#include "runtime/files/output_lock.h"
#include "train/checkpoint/saved_form.h"
#include "train/checkpoint/version_folders.h"

namespace tessera::cli {
namespace {

constexpr char kDescription[] =
    "Take back the newest version in a folder of versions that tessera quantize --keep made, so "
    "that the one before it is the newest again.";
constexpr char kRollbackFooter[] =
    "\n"
    "Examples:\n"
    "  tessera rollback versions           the version before the newest is served again\n"
    "  tessera rollback versions --to 3    version 3 is\n"
    "\n"
    "A version is taken back by the rename of its folder, DIR/5 to DIR/withdrawn-5; mv back makes "
    "it a version again. Its deltas go and stay with it: VERSION is the number of its folder or of "
    "its newest delta. A running tessera serve follows within --watch, or on SIGHUP or …/load; "
    "no request fails meanwhile. The number is not used again: the next tessera quantize writes "
    "version 6. A model directory that was not made with --keep has no versions before it.\n";

struct RollbackFlags {
  std::string folder;
  std::optional<int64_t> to;
};

// Throws Error for a path that is no folder of versions: what it is, and which to give.
[[noreturn]] void ThrowNoVersions(const std::string& path) {
  if (const auto place = PlaceOfVersion(path))
    throw Error(
        Format("{}: expected a folder of versions, got version {} in one: tessera rollback {}",
               path, place->number, place->folder));
  if (std::filesystem::is_regular_file(path))
    throw Error(
        Format("{}: expected a folder of versions, which tessera quantize CHECKPOINT -o DIR "
               "--keep N makes, got a file",
               path));
  const SavedForm form = DetectForm(path);
  throw Error(
      Format("{}: it is {} without versions to go back to: tessera quantize --keep N "
             "keeps them",
             path, Described(form)));
}

// The version that is to be the newest.
int64_t Target(const RollbackFlags& flags) {
  const std::vector<VersionFolder> versions = VersionFoldersIn(flags.folder);
  if (versions.empty()) ThrowNoVersions(flags.folder);
  if (flags.to) return *flags.to;
  if (versions.size() == 1)
    throw Error(Format("{}: there is no version before {}", flags.folder, versions[0].number));
  return versions[versions.size() - 2].number;
}

int Rollback(const RollbackFlags& flags) {
  const int64_t target = Target(flags);
  const OutputLock lock(flags.folder, OutputLock::Of::kFolder);
  std::string withdrawn = internal::Joined(WithdrawAbove(flags.folder, target));
  if (withdrawn.empty()) withdrawn = "none";
  const std::vector<VersionFolder> newest = {VersionFoldersIn(flags.folder).back()};
  Note(Format("{}: version {} is the newest; taken back: {}", flags.folder, ListedVersions(newest),
              withdrawn),
       {{"folder", flags.folder}, {"version", newest[0].newest()}});
  return 0;
}

}  // namespace

void AddRollbackCommand(Command app) {
  Command command = app.AddCommand("rollback", kDescription);
  const auto f = std::make_shared<RollbackFlags>();
  command.Add("folder", f->folder, "A folder of versions").Required().Value("DIR");
  command.Add("--to", f->to, "Go back to this version; default: the one before the newest")
      .Value("VERSION");
  command.Footer(kRollbackFooter);
  command.Run([f] { return Rollback(*f); });
}

}  // namespace tessera::cli
