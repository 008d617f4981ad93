#ifndef TESSERA_CLI_HELP_FORMATTER_H_
#define TESSERA_CLI_HELP_FORMATTER_H_
// Help texts that end at column 100. CLI11 writes each description on one line.
#include <CLI/CLI.hpp>
#include <string>
#include <string_view>

namespace tessera::cli {

// Breaks lines at spaces before column 100. What follows goes on below the text that the line's
// first words describe, or below the line's begin. Examples stay as they are: they are pasted.
std::string Wrapped(std::string_view text);

class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_help(const CLI::App* app, std::string name,
                        CLI::AppFormatMode mode) const override {
    return Wrapped(CLI::Formatter::make_help(app, std::move(name), mode));
  }
};

}  // namespace tessera::cli
#endif  // TESSERA_CLI_HELP_FORMATTER_H_
