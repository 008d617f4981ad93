// The `tessera` command.
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/error_text.h"
#include "cli/help_formatter.h"
#include "cli/nearest.h"
#include "runtime/base/build_id.h"
#include "runtime/base/check.h"
#include "runtime/base/version.h"

namespace tessera::cli {
namespace {

constexpr char kDescription[] =
    "Tessera trains recommender models with large embedding tables.\n"
    "\n"
    "New here? These three lines train a small model on data made up on the spot, whose best "
    "possible result is known, and show what was saved:\n"
    "  tessera train --config examples/planted.json --checkpoint model.safetensors\n"
    "  tessera inspect model.safetensors\n"
    "  tessera train --help\n"
    "\n"
    "From a checkpoint to a service:\n"
    "  tessera quantize model.safetensors -o model --bits 8\n"
    "  tessera serve model\n"
    "\n"
    "On your own data (Criteo layout: label, 13 integers, 26 hexadecimal ids, separated by tabs; "
    "plain or .gz):\n"
    "  tessera train --config examples/criteo.json --data day_0.gz day_1.gz --eval day_2.gz \\\n"
    "    --checkpoint model.safetensors\n"
    "  tessera preprocess day_0.gz day_1.gz -o rows    (parsed once; then --data rows)\n";

constexpr char kFooter[] =
    "\nExit codes:\n"
    "  0    The command did what it was asked to.\n"
    "  1    Something was wrong: one sentence on standard error says what, and where.\n"
    "  130  Ctrl-C (SIGINT) ended it; tessera train has saved its checkpoint before.\n"
    "  143  SIGTERM ended it, likewise. (tessera serve ends with 0 on either.)\n"
    "--json, --metrics and -o write files, except that --json of inspect and calibrate is a switch "
    "and prints to standard output.\n";

// The exit code of a command that ends with `code`: what could not be written to standard output (a
// full disk) is a failure of every command.
int AfterOutput(int code) {
  errno = 0;
  std::cout.flush();
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0 && std::cout.good()) return code;
  std::cerr << "tessera: standard output could not be written"
            << (errno == 0 ? "" : std::string(": ") + std::strerror(errno)) << "\n";
  return code == 0 ? 1 : code;
}

// The command that was chosen, and of its own commands the one.
const CLI::App& ChosenOf(const CLI::App& app) {
  const auto chosen = app.get_subcommands();
  return chosen.empty() ? app : ChosenOf(*chosen.front());
}

// "; did you mean --rows?", where a word that was not expected is near one that is.
std::string Suggestion(const CLI::App& app) {
  const CLI::App& command = ChosenOf(app);
  std::vector<std::string> names;
  for (const CLI::App* sub : command.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(sub->get_name());
  for (const CLI::Option* option : command.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  for (const std::string& word : app.remaining(/*recurse=*/true))
    if (const std::string name = Nearest(word.substr(0, word.find('=')), names); !name.empty())
      return Format("; did you mean {}?", name);
  return "";
}

// "'trian' is no command", "--epcohs 3: not expected by tessera train".
std::string Unexpected(const CLI::App& app) {
  const std::vector<std::string> words = app.remaining(/*recurse=*/true);
  if (app.get_subcommands().empty()) return Format("'{}' is no command", words.front());
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  std::string command;
  for (const CLI::App* at = &app; !at->get_subcommands().empty();) {
    at = at->get_subcommands().front();
    command += " " + at->get_name();
  }
  return Format("{}: not expected by tessera{}", text, command);
}

// Mistakes on the command line, said in one sentence; --help and --version are no mistakes.
int ExitOnParse(const CLI::App& app, const CLI::ParseError& error) {
  if (error.get_exit_code() == 0) return AfterOutput(app.exit(error));
  const bool unexpected = dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr;
  std::cerr << "tessera: " << (unexpected ? Unexpected(app) : error.what()) << Suggestion(app)
            << " (see tessera --help)\n";
  return 1;
}

// "train, generate or inspect", say.
std::string Commands(const CLI::App& app) {
  const auto commands = app.get_subcommands([](const CLI::App*) { return true; });
  std::string names;
  for (size_t i = 0; i < commands.size(); ++i)
    names += (i == 0 ? "" : i + 1 < commands.size() ? ", " : " or ") + commands[i]->get_name();
  return names;
}

int Main(int argc, char** argv) {
  std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);  // who reads a pipe sees each line when it is said
  CLI::App app(kDescription, "tessera");
  app.formatter(std::make_shared<HelpFormatter>());
  app.failure_message(CLI::FailureMessage::simple);
  app.set_version_flag(
      "--version", [] { return Format("tessera {} (build {})", kVersion, BuildId()); },
      "Print the version and the identity of the build, and exit");
  app.footer(kFooter);
  Action action;
  AddTrainCommand(app, action);
  AddGenerateCommand(app, action);
  AddPreprocessCommand(app, action);
  AddInspectCommand(app, action);
  AddReshardCommand(app, action);
  AddExportCommand(app, action);
  AddCompactCommand(app, action);
  AddCalibrateCommand(app, action);
  AddPlanCommand(app, action);
  AddQuantizeCommand(app, action);
  AddPredictCommand(app, action);
  AddServeCommand(app, action);
  AddBenchCommand(app, action);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return ExitOnParse(app, error);
  } catch (const Error& error) {
    std::cerr << "tessera: " << ErrorText(error) << "\n";
    return 1;
  }
  if (!action) {
    std::cerr << "tessera: expected a command: " << Commands(app) << " (see tessera --help)\n";
    return 1;
  }
  try {
    return AfterOutput(action());
  } catch (const std::exception& error) {
    std::cerr << "tessera: " << ErrorText(error) << "\n";
    return 1;
  }
}

}  // namespace
}  // namespace tessera::cli

int main(int argc, char** argv) { return tessera::cli::Main(argc, argv); }
