#include "cli/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <iostream>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cli/ranks/wrong_start.h"
#include "cli/show/error_text.h"
#include "cli/show/log.h"
#include "cli/wrapped_text.h"
#include "runtime/base/build_id.h"
#include "runtime/base/check.h"
#include "runtime/base/joined.h"
#include "runtime/base/nearest.h"
#include "runtime/base/version.h"
#include "runtime/files/process_files.h"
#include "runtime/flags/mistake_text.h"

namespace tessera::cli {
namespace {

constexpr char kLogGroup[] = "Log";

class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_help(const CLI::App* app, std::string name,
                        CLI::AppFormatMode mode) const override {
    return Wrapped(CLI::Formatter::make_help(app, std::move(name), mode));
  }

  std::string make_option_opts(const CLI::Option* option) const override {
    return internal::OptionText(CLI::Formatter::make_option_opts(option),
                                option->get_default_str());
  }
};

// The exit code of a command that ends with `code`: if standard output could not be written (a full
// disk), every command fails.
int AfterOutput(int code) {
  errno = 0;
  std::cout.flush();
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0 && std::cout.good()) return code;
  const int failed = SayLastError("standard output could not be written" +
                                  (errno == 0 ? "" : std::string(": ") + std::strerror(errno)));
  return code == 0 ? failed : code;
}

std::vector<std::string> CommandNames(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(command->get_name());
  return names;
}

// The command that was chosen, or the one of its own commands.
const CLI::App& Chosen(const CLI::App& app) {
  const auto chosen = app.get_subcommands();
  return chosen.empty() ? app : Chosen(*chosen.front());
}

// "; did you mean --rows?" if one of these unexpected words is near an expected one; else "".
std::string Suggestion(const CLI::App& app, const std::vector<std::string>& words) {
  const CLI::App& command = Chosen(app);
  std::vector<std::string> names = CommandNames(command);
  for (const CLI::Option* option : command.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  for (const std::string& word : words) {
    const std::string flag = word.substr(0, word.find('=')), name = Nearest(flag, names);
    if (!name.empty() && name != flag) return Format("; did you mean {}?", name);
  }
  return "";
}

// The words of the chosen command: "tessera train".
std::string CommandPath(const CLI::App& app) {
  std::string path = "tessera";
  for (auto at = app.get_subcommands(); !at.empty(); at = at.front()->get_subcommands())
    path += " " + at.front()->get_name();
  return path;
}

// The words of a line that no flag or argument takes.
struct Extras {
  std::vector<std::string> before;  // the command
  std::vector<std::string> all;     // those behind a -- only where there are no others
};

// CLI11 gives words behind a -- to the program, as it does those before the command.
Extras ExtrasOf(const CLI::App& app, const std::vector<std::string>& line) {
  const std::vector<std::string> own = app.remaining();
  if (app.get_subcommands().empty()) return {{}, own};
  const CLI::App& command = *app.get_subcommands().front();
  auto first = own.begin();
  const auto name = std::ranges::find(line, command.get_name());
  for (auto word = line.begin(); word != name; ++word)
    if (first != own.end() && *word == *first) ++first;
  Extras extras{{own.begin(), first}, {own.begin(), first}};
  std::ranges::remove_copy(command.remaining(/*recurse=*/true), std::back_inserter(extras.all),
                           "--");
  if (extras.all.empty()) extras.all = own;
  return extras;
}

// The sentence about words that were not expected: "'trian' is no command", "--epcohs 3: not
// expected by tessera train".
std::string Unexpected(const CLI::App& app, const Extras& extras) {
  if (app.get_subcommands().empty())
    return Format("'{}' is no command{}", extras.all.front(), Suggestion(app, extras.all));
  const std::string command = CommandPath(app), before = internal::Joined(extras.before, " ");
  if (before.starts_with('-'))
    return Format("{}: flags of a command follow its name: {} {}{}", before, command, before,
                  Suggestion(app, extras.before));
  return Format("{}: not expected by {}{}", internal::Joined(extras.all, " "), command,
                Suggestion(app, extras.all));
}

// The sentence about the first flag of a line that belongs elsewhere on it; "" where there is none.
std::string ElsewhereText(const ChosenWork& chosen, const Extras& extras) {
  if (!chosen.elsewhere) return "";
  for (const std::string& word : extras.all) {
    const std::string flag = word.substr(0, word.find('='));
    if (const std::string where = chosen.elsewhere(flag); !where.empty())
      return Format("{}: {}", flag, where);
  }
  return "";
}

// Mistakes on the command line, said in one sentence; --help and --version are no mistakes.
int ExitOnParse(const CLI::App& app, const CLI::ParseError& error, const ChosenWork& chosen,
                const std::vector<std::string>& line) {
  // `tessera trian --help` asks for the help of a command that is not there.
  const bool no_command = app.get_subcommands().empty() && !app.remaining().empty();
  const bool unexpected = no_command || dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr;
  if (error.get_exit_code() == 0 && !no_command) return AfterOutput(app.exit(error));
  const std::string command = CommandPath(app);
  const Extras extras = ExtrasOf(app, line);
  std::string text = ElsewhereText(chosen, extras);
  if (text.empty())
    text = unexpected ? Unexpected(app, extras)
                      : internal::MistakeText(error.what()) + Suggestion(app, extras.all);
  return SayWrongFlags(command, Format("{} (see {} --help)", text, command));
}

// `tessera help train` is `tessera train --help`.
std::vector<std::string> WordsOf(int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  if (!words.empty() && words[0] == "help") {
    words.erase(words.begin());
    words.push_back("--help");
  }
  return words;
}

int DoChosen(const CLI::App& app, const Work& work) {
  if (!work)
    return SayLastError(Format("expected a command: {} (see tessera --help)",
                               internal::Joined(CommandNames(app), ", ", " or ")));
  try {
    return AfterOutput(work());
  } catch (const std::exception& error) {
    return SayOnceUnderMpirun(CommandPath(app), ErrorText(error));
  }
}

}  // namespace

Command Command::AddCommand(const std::string& name, const std::string& description) {
  Command command(app_->add_subcommand(name, description), chosen_);
  command.AddLogFlags();
  return command;
}

Command Command::AddCommandInPlace(const std::string& name, const std::string& description) {
  Command command = AddCommand(name, description);
  app_->require_subcommand(0, 1);  // a command's argument may be its own name
  command.app_->preparse_callback([above = app_, own = command.app_](size_t) {
    for (CLI::Option* option : above->get_options()) {
      if (option->count() > 0 && option->get_group() != kLogGroup)
        throw CLI::ValidationError(
            Format("{}: flags of {} follow its name", option->get_name(), own->get_name()));
      option->required(false);
    }
  });
  return command;
}

void Command::AddLogFlags() {
  Add("--quiet", chosen_->log.quiet,
      "Print results, warnings and errors alone: no progress, and no notes of what is done")
      .Group(kLogGroup);
  Add("--log-format", chosen_->log.format,
      "Write all that is no result to standard error, as lines with time and level: text, or json, "
      "an object a line; default: notes to standard output, and the rest as text where standard "
      "error is no terminal")
      .OneOf({"text", "json"})
      .Group(kLogGroup)
      .Value("FORMAT");
}

Flag Command::AddWords(const std::string& names,
                       std::function<void(const std::vector<std::string>&)> take,
                       const std::string& help) {
  CLI::Option* option =
      app_->add_option_function<std::vector<std::string>>(names, std::move(take), help);
  return Flag(option->delimiter(','));
}

void Command::SayElsewhere(std::function<std::string(const std::string& flag)> where) {
  app_->preparse_callback(
      [chosen = chosen_, where = std::move(where)](size_t) { chosen->elsewhere = where; });
}

void Command::Footer(const std::string& text) { app_->footer(text); }

void Command::Run(Work work) {
  app_->callback([app = app_, chosen = chosen_, work = std::move(work)] {
    if (app->get_subcommands().empty()) chosen->work = work;  // else one in its place has done so
  });
}

void Command::AddCommandsWhenChosen(std::function<void(Command)> add, Work work,
                                    std::function<std::string(const std::string&)> unknown) {
  app_->allow_extras();
  app_->preparse_callback([self = *this, add = std::move(add)](size_t) {
    add(self);
    for (CLI::App* sub : self.app_->get_subcommands([](CLI::App*) { return true; }))
      sub->allow_extras(false);  // which they would take from this one
  });
  app_->callback([self = *this, work = std::move(work), unknown = std::move(unknown)] {
    if (!self.app_->get_subcommands().empty()) return;
    const std::vector<std::string> words = self.app_->remaining();
    if (!words.empty()) throw CLI::ValidationError(unknown(words[0]));
    self.chosen_->work = work;
  });
}

bool IsFlagOf(const std::string& word, const std::function<void(Command)>& add) {
  if (!word.starts_with('-')) return false;
  CLI::App app;
  app.set_help_flag();
  ChosenWork none;
  add(Command(&app, &none));
  return app.get_option_no_throw(word.substr(0, word.find('='))) != nullptr;
}

void ParseFlags(const std::string& command, std::vector<std::string> words,
                const std::function<void(Command)>& add) {
  CLI::App app("", command);
  app.set_help_flag();
  ChosenWork none;
  Command flags(&app, &none);
  flags.AddLogFlags();
  add(flags);
  std::ranges::reverse(words);  // CLI11 takes the last one first
  try {
    app.parse(std::move(words));
  } catch (const CLI::ExtrasError&) {
    const std::vector<std::string> extras = app.remaining();
    throw Error(Format("{}: not expected by {}{}", internal::Joined(extras, " "), command,
                       Suggestion(app, extras)));
  } catch (const CLI::ParseError& error) {
    throw Error(Format("{} (of {})", internal::MistakeText(error.what()), command));
  }
}

int RunCommandLine(int argc, char** argv, const std::string& description, const std::string& footer,
                   void (*add)(Command)) {
  PrepareProcessFiles();
  CLI::App app(description, "tessera");
  app.formatter(std::make_shared<HelpFormatter>());
  app.failure_message(CLI::FailureMessage::simple);
  app.set_version_flag(
      "--version", [] { return Format("tessera {} (build {})", kVersion, BuildId()); },
      "Print the version and the identity of the build, and exit");
  app.footer(footer);
  app.require_subcommand(0, 1);  // a command's argument may be another one's name: config train
  ChosenWork chosen;
  Command tessera(&app, &chosen);
  tessera.AddLogFlags();  // they may also stand before the command
  add(tessera);
  const std::vector<std::string> words = WordsOf(argc, argv);
  try {
    app.parse(std::vector(words.rbegin(), words.rend()));  // CLI11 takes the last one first
  } catch (const CLI::ParseError& error) {
    SetLog(chosen.log);
    return ExitOnParse(app, error, chosen, words);
  } catch (const Error& error) {
    SetLog(chosen.log);
    return SayWrongFlags(CommandPath(app), ErrorText(error));
  }
  SetLog(chosen.log);
  return DoChosen(app, chosen.work);
}

}  // namespace tessera::cli
