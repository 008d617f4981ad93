#ifndef TESSERA_RUNTIME_FLAGS_FLAGS_H_
#define TESSERA_RUNTIME_FLAGS_FLAGS_H_
// Flags on the command line of a program. `tessera`, which has commands, builds on them
// (cli/command_line.h).
//
//   internal::ProgramFlags flags("Latency of requests to a served model");
//   flags.Add("--seconds", seconds, "of a loop").Within(internal::NumbersFrom(1));
//   if (!flags.Parse(argc, argv)) return 0;
//
// CLI11 does the work. This header does not include it, as its templates take seconds to compile in
// each file that does.
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace tessera::internal {

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

// Numbers that have no upper limit.
template <typename T>
NumberRange NumbersFrom(T low) {
  using Wide = std::conditional_t<std::is_integral_v<T>, int64_t, double>;
  return NumbersFrom<Wide>(low, std::numeric_limits<Wide>::max());
}

// A flag or an argument; copies name the same one.
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

// The flags of a program or of one of its commands; copies name the same ones.
class Flags {
 public:
  explicit Flags(CLI::App* app) : app_(app) {}

  // A value that goes into `value`, which outlives the flags. T: bool (a switch), int, int64_t,
  // uint64_t, double, std::string, std::optional of int, int64_t or double, std::vector of int,
  // int64_t or std::string.
  template <typename T>
  Flag Add(const std::string& names, T& value, const std::string& help);
  // Flags that are added after this show their variables' values as defaults in the help.
  void ShowDefaults();

 protected:
  CLI::App* app_;
};

// The flags of a program without commands, whose help shows defaults.
class ProgramFlags : public Flags {
 public:
  explicit ProgramFlags(const std::string& description);

  // Reads the line into the variables. Returns false after --help, which it has printed: the
  // program ends with 0. Throws Error for a line that the flags do not take; words that no flag
  // takes are "not expected by `whose`", or, without it, "not expected".
  [[nodiscard]] bool Parse(int argc, char** argv, const std::string& whose = "");

 private:
  explicit ProgramFlags(std::shared_ptr<CLI::App> own);
  std::shared_ptr<CLI::App> own_;
};

}  // namespace tessera::internal
#endif  // TESSERA_RUNTIME_FLAGS_FLAGS_H_
