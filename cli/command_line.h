#ifndef TESSERA_CLI_COMMAND_LINE_H_
#define TESSERA_CLI_COMMAND_LINE_H_
// Commands and flags of `tessera`. A command's file says what it takes and what it does; parsing,
// help and the sentences for mistakes are here.
//
// CLI11 does the work, here and in runtime/flags/flags.h; neither header includes it.
#include <functional>
#include <string>
#include <vector>

#include "cli/show/log.h"
#include "runtime/flags/flags.h"

namespace tessera::cli {

using internal::Flag;
using internal::NumbersFrom;

// A command's result is the exit code.
using Work = std::function<int()>;

// The command that a line chose, and what the line says of its log.
struct ChosenWork {
  Work work = nullptr;
  LogOptions log = {};
  // Says of a flag that no command takes where it stands what to write instead; "" where nobody
  // knows.
  std::function<std::string(const std::string& flag)> elsewhere = nullptr;
};

// `tessera`, or one of its commands; copies name the same one.
class Command : public internal::Flags {
 public:
  Command(CLI::App* app, ChosenWork* chosen) : Flags(app), chosen_(chosen) {}

  // Adds a command with the flags that all commands have, behind its name or before it: --quiet and
  // --log-format.
  Command AddCommand(const std::string& name, const std::string& description);
  // Adds a command that is done in place of this one, whose flags it does not take: required ones
  // are not asked for, and those before its name are refused.
  Command AddCommandInPlace(const std::string& name, const std::string& description);
  void AddLogFlags();
  // `where` says of a flag that belongs elsewhere on the line, where; "" of others.
  void SayElsewhere(std::function<std::string(const std::string& flag)> where);
  // Words, parted by commas, that `take` gets.
  Flag AddWords(const std::string& names, std::function<void(const std::vector<std::string>&)> take,
                const std::string& help);
  // Adds text below the flags in the help.
  void Footer(const std::string& text);
  // Sets the work of the command, for when it is chosen.
  void Run(Work work);

  // Adds its commands by `add` only when it is chosen itself: for lists that take time to make.
  // Without one of them it does `work`. An unknown one is refused with `unknown(word)`.
  void AddCommandsWhenChosen(std::function<void(Command)> add, Work work,
                             std::function<std::string(const std::string&)> unknown);

 private:
  ChosenWork* chosen_;
};

// Whether `word`, "--set" or "--set=1", begins with the name of a flag that `add` adds.
bool IsFlagOf(const std::string& word, const std::function<void(Command)>& add);

// Parses words as the flags of `command` that `add` adds, and does no work. Throws Error, which
// names the command, for words that it does not take; --help is one.
void ParseFlags(const std::string& command, std::vector<std::string> words,
                const std::function<void(Command)>& add);

// Parses the line into the commands that `add` adds to `tessera`, and does the work of the chosen
// one. Returns the exit code: 1 after a mistake, which one sentence on standard error names.
int RunCommandLine(int argc, char** argv, const std::string& description, const std::string& footer,
                   void (*add)(Command));

}  // namespace tessera::cli
#endif  // TESSERA_CLI_COMMAND_LINE_H_
