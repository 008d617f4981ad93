#ifndef TESSERA_CLI_OUTPUTS_H_
#define TESSERA_CLI_OUTPUTS_H_
// Outputs of a command, claimed before it starts. Models, data and metrics that exist are written
// over only if the command began from them, or if --overwrite says so; a report
// (cli/show/reports.h) only takes the place of an earlier one of its kind. A folder is a new or an
// empty one, or has what a command of this program writes into folders. Never written over: what
// another process writes, what the command itself reads, and one path for two outputs.
#include <string>
#include <utility>
#include <vector>

#include "cli/command_line.h"
#include "cli/show/reports.h"
#include "runtime/files/output_lock.h"

namespace tessera::cli {

class Outputs {
 public:
  // reads: files and folders that the command reads; what is not there ("", a word) is none.
  // looks_only: outputs are checked, but none is claimed, and no folder is made.
  explicit Outputs(bool overwrite, std::vector<std::string> reads = {}, bool looks_only = false)
      : overwrite_(overwrite), looks_only_(looks_only), reads_(std::move(reads)) {}

  // Claims a file, or what a folder holds, until this is destroyed. `begun_from`: what the command
  // goes on from, "" for nothing. Throws Error, naming the path. "" claims nothing. `advice`: what
  // to do first where something is there, "--resume a.st goes on with it"; "": nothing.
  void AddFile(const std::string& path, const std::string& begun_from = "",
               const std::string& advice = "");
  void AddFolder(const std::string& path, const std::string& begun_from = "",
                 const std::string& advice = "");
  // A file that lines are added to; `goes_on`: to those of an earlier run.
  void AddLines(const std::string& path, const Report& report, bool goes_on);
  void AddReport(const std::string& path, const Report& report);

 private:
  static void CheckIsNamed(const std::string& path);
  static void CheckIsNamedAsPicture(const std::string& path, const Report& report);
  void CheckApart(const std::string& path, const std::string& begun_from = "") const;
  void CheckFile(const std::string& path) const;
  void Lock(const std::string& path, OutputLock::Of of);
  static void CheckNoStranger(const std::string& path, const std::string& begun_from);
  void CheckNothingIsLost(const std::string& path, const std::string& saved,
                          const std::string& begun_from, const std::string& advice = "") const;

  bool overwrite_, looks_only_;
  std::vector<std::string> reads_, written_;
  std::vector<OutputLock> locks_;
};

void AddOverwriteFlag(Command command, bool& overwrite);

}  // namespace tessera::cli
#endif  // TESSERA_CLI_OUTPUTS_H_
