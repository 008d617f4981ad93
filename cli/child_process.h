#ifndef TESSERA_CLI_CHILD_PROCESS_H_
#define TESSERA_CLI_CHILD_PROCESS_H_
// Processes that a command starts. Their standard input is empty.
#include <sys/types.h>
#include <unistd.h>

#include <string>
#include <vector>

namespace tessera::cli {

inline constexpr char kThisProgram[] = "/proc/self/exe";  // also after its file was replaced

struct ChildStart {
  std::string program;             // a path
  std::vector<std::string> words;  // the name that it is called by, then what it is told
  std::string log = {};            // standard output and error are added to this file; "": to ours
  int errors = STDERR_FILENO;      // a descriptor for standard error, where there is no log
  // Ctrl-C on the terminal does not reach it, and SIGTERM ends it when this process has ended.
  bool guarded = false;
};

// Throws Error, with the system's reason, for a process that cannot be started.
pid_t StartChild(const ChildStart& start);

}  // namespace tessera::cli
#endif  // TESSERA_CLI_CHILD_PROCESS_H_
