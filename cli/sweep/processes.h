#ifndef TESSERA_CLI_SWEEP_PROCESSES_H_
#define TESSERA_CLI_SWEEP_PROCESSES_H_
// This program, started again with other words, or another one: a few processes at a time, each
// with its output in a file. The signals of cli/interrupt.h go on to those that run.
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace tessera::cli {

struct ProcessStart {
  std::vector<std::string> words;  // after the program's name
  std::string log;                 // lines are added to this file
  std::string program = "";        // a path; "": this program
};

// Starts them in order, at most `jobs` at a time, and calls on_end(number, why) as each ends; why:
// "" for exit code 0, else the last error that the process wrote to its log, or how it ended, or
// why it was not started. After a signal none is started; it returns when all have ended, without
// on_end for those that ended otherwise than with 0.
void RunProcesses(const std::vector<ProcessStart>& starts, int jobs,
                  const std::function<void(size_t, const std::string&)>& on_end);

}  // namespace tessera::cli
#endif  // TESSERA_CLI_SWEEP_PROCESSES_H_
