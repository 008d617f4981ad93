#ifndef TESSERA_CLI_COMMAND_H_
#define TESSERA_CLI_COMMAND_H_
// A command of `tessera`: how it joins the command line. One .cc file a command; main.cc lists
// them.
#include <CLI/CLI.hpp>
#include <functional>

namespace tessera::cli {

// The work of the chosen command; the result is the exit code.
using Action = std::function<int()>;

// Numbers from `low` to `high`, without a mark of it in the help.
template <typename T>
CLI::Validator NumbersFrom(T low, T high) {
  CLI::Validator range = CLI::Range(low, high);
  range.description("");
  return range;
}

// Each adds its subcommand to `app`, and sets `action` when it is the one chosen.
void AddTrainCommand(CLI::App& app, Action& action);
void AddGenerateCommand(CLI::App& app, Action& action);
void AddPreprocessCommand(CLI::App& app, Action& action);
void AddInspectCommand(CLI::App& app, Action& action);
void AddReshardCommand(CLI::App& app, Action& action);
void AddExportCommand(CLI::App& app, Action& action);
void AddCompactCommand(CLI::App& app, Action& action);
void AddCalibrateCommand(CLI::App& app, Action& action);
void AddPlanCommand(CLI::App& app, Action& action);
void AddQuantizeCommand(CLI::App& app, Action& action);
void AddPredictCommand(CLI::App& app, Action& action);
void AddServeCommand(CLI::App& app, Action& action);
void AddBenchCommand(CLI::App& app, Action& action);

}  // namespace tessera::cli
#endif  // TESSERA_CLI_COMMAND_H_
