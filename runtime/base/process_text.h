#ifndef TESSERA_RUNTIME_BASE_PROCESS_TEXT_H_
#define TESSERA_RUNTIME_BASE_PROCESS_TEXT_H_
// The time, the command of this process, and commands as text, for records of what it did.
#include <chrono>
#include <string>
#include <vector>

namespace tessera {

// The time now: "2026-11-26T07:40:12Z".
std::string UtcTimeText();
// A time, with milliseconds: "2026-11-26T07:40:12.345Z".
std::string UtcTimeText(std::chrono::system_clock::time_point time);

// The command line of this process, a word each; empty where it cannot be read.
std::vector<std::string> CommandWords();
// The words of a command as a line, which a shell takes apart again.
std::string ShellText(const std::vector<std::string>& words);

}  // namespace tessera
#endif  // TESSERA_RUNTIME_BASE_PROCESS_TEXT_H_
