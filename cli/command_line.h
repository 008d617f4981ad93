#ifndef TESSERA_CLI_COMMAND_LINE_H_
#define TESSERA_CLI_COMMAND_LINE_H_
// Commands and flags of `tessera`. A command's file says what it takes and what it does; parsing,
// help and the sentences for mistakes are here.
//
// CLI11 does the work. It is included by command_line.cc alone, as its templates take seconds to
// compile in each file that includes them.
#include <cstdint>
#include <functional>
#include <string>
#include <type_traits>
#include <vector>

#include "cli/show/log.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace tessera::cli {

// Numbers that a flag allows, low and high among them.
struct NumberRange {
  bool whole;
  int64_t low, high;           // where whole
  double real_low, real_high;  // elsewhere
};

template <typename T>
NumberRange NumbersFrom(T low, T high) {
  if constexpr (std::is_integral_v<T>)
    return {true, low, high, 0, 0};
  else
    return {false, 0, 0, low, high};
}

// A flag or an argument of a command; copies name the same one.
class Flag {
 public:
  explicit Flag(CLI::Option* option) : option_(option) {}

  Flag& Required();
  // Names its value in the help: FILE, N, …. An empty one is refused, but for TEXT.
  Flag& Value(const std::string& name);
  Flag& Within(const NumberRange& range);
  Flag& OneOf(const std::vector<std::string>& words);
  // Takes one value each time that it is given: a list of them does not follow it.
  Flag& OneAtATime();
  // Its value is a list whose items the character parts.
  Flag& Delimiter(char delimiter);
  // The help shows the variable's value as the default; with a text, that.
  Flag& ShowDefault();
  Flag& ShowDefault(const std::string& text);
  // The help lists it under this heading.
  Flag& Group(const std::string& heading);
  // Both together are refused.
  Flag& Excludes(const Flag& other);
  // It is refused without the other.
  Flag& Needs(const Flag& other);
  Flag& Needs(const std::string& other);

 private:
  CLI::Option* option_;
};

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
class Command {
 public:
  Command(CLI::App* app, ChosenWork* chosen) : app_(app), chosen_(chosen) {}

  // Adds a command with the flags that all commands have, behind its name or before it: --quiet and
  // --log-format.
  Command AddCommand(const std::string& name, const std::string& description);
  // Adds a command that is done in place of this one, whose flags it does not take: required ones
  // are not asked for, and those before its name are refused.
  Command AddCommandInPlace(const std::string& name, const std::string& description);
  void AddLogFlags();
  // `where` says of a flag that belongs elsewhere on the line, where; "" of others.
  void SayElsewhere(std::function<std::string(const std::string& flag)> where);
  // A value that goes into `value`, which outlives the command. T: bool (a switch), int, int64_t,
  // uint64_t, double, float, std::string, std::optional of int, int64_t or double, std::vector of
  // std::string or int64_t.
  template <typename T>
  Flag Add(const std::string& names, T& value, const std::string& help);
  // Words, parted by commas, that `take` gets.
  Flag AddWords(const std::string& names, std::function<void(const std::vector<std::string>&)> take,
                const std::string& help);
  // Flags that are added after this show their variables' values as defaults in the help.
  void ShowDefaults();
  // Adds text below the flags in the help.
  void Footer(const std::string& text);
  // Sets the work of the command, for when it is chosen.
  void Run(Work work);

  // Adds its commands by `add` only when it is chosen itself: for lists that take time to make.
  // Without one of them it does `work`. An unknown one is refused with `unknown(word)`.
  void AddCommandsWhenChosen(std::function<void(Command)> add, Work work,
                             std::function<std::string(const std::string&)> unknown);

 private:
  CLI::App* app_;
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
