#ifndef TESSERA_CLI_OUTPUTS_H_
#define TESSERA_CLI_OUTPUTS_H_
// The models, data and metrics that a command writes, claimed before it starts. One that is there
// is written over only where the command began from it, or where --overwrite says so; one that
// another process writes, never. (Reports are cli/reports.h's.)
#include <string>
#include <vector>

#include "cli/command.h"
#include "runtime/output_lock.h"

namespace tessera::cli {

class Outputs {
 public:
  explicit Outputs(bool overwrite) : overwrite_(overwrite) {}

  // Claims a file, or what a folder holds, until this is destroyed. `begun_from`: what the command
  // goes on from, "" for nothing. Throws Error, naming the path. "" claims nothing.
  void AddFile(const std::string& path, const std::string& begun_from = "");
  void AddFolder(const std::string& path, const std::string& begun_from = "");

 private:
  void CheckNothingIsLost(const std::string& path, const std::string& saved,
                          const std::string& begun_from) const;

  bool overwrite_;
  std::vector<OutputLock> locks_;
};

void AddOverwriteFlag(CLI::App& command, bool& overwrite);

}  // namespace tessera::cli
#endif  // TESSERA_CLI_OUTPUTS_H_
