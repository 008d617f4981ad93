#ifndef TESSERA_CLI_SHOW_LOG_H_
#define TESSERA_CLI_SHOW_LOG_H_
// Lines that a command says beside its results: what it does, how far it is, warnings, its error.
//
//                        without --log-format             with --log-format text or json
//   results              standard output                  standard output
//   notes                standard output, as they are     standard error, in the format
//   progress, warnings   standard error: as they are on   standard error, in the format
//                        a terminal, else as text
//   the last error       "tessera: …"                     "tessera: …", or a line of json
//
// A result is what a command was asked to compute or to show. Of a command that writes files they
// are the result: what it says of them is a note, a table of them, too. --quiet leaves out notes
// and progress. The formats:
//   text  2026-11-26T12:34:56.789Z INFO  epoch 1 50 % 43,210 samples/s loss 0.4571 0:12 left
//   json  {"time":"2026-11-26T12:34:56.789Z","level":"info","message":"epoch 1 …","epoch":1,…}
// Any thread may call the functions that say something.
#include <cstdint>
#include <cstdio>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace tessera::cli {

enum class LogLevel { kInfo, kWarning, kError };

// Numbers and names of a message, which json has as keys beside it.
using LogFields = std::vector<std::pair<std::string, std::variant<int64_t, double, std::string>>>;

struct LogOptions {
  std::string format;  // "text", "json" or "", where --log-format is not given
  bool quiet = false;
};
void SetLog(LogOptions options);

// Says what the command does or has done; may have several lines. Blank lines around it are for
// people: a line in a format does without them.
void Note(const std::string& message, const LogFields& fields = {});
// A note that --quiet does not leave out: where others find what the command does.
void NoteAlways(const std::string& message, const LogFields& fields);
// Says how far it is.
void NoteProgress(const std::string& message, const LogFields& fields);
void Warn(const std::string& message, const LogFields& fields = {});
// An error that does not end the command.
void NoteError(const std::string& message, const LogFields& fields = {});
// The last line of a command that fails, with its end.
std::string LastErrorLine(const std::string& message);
// Says why the command fails, as its last line; returns its exit code.
int SayLastError(const std::string& why);
// The message of such a line, in either form; absent for any other line.
std::optional<std::string> ErrorOfLine(const std::string& line);

// Has notes on standard error in any format: for a command whose output is on standard output.
void NotesToStandardError();

// Whether progress is a bar: on a terminal, without --log-format and --quiet.
bool ShowsBar();
bool ShowsProgress();
// Draws the bar in place of the one before. REQUIRES: ShowsBar().
void DrawBar(const std::string& line);
// Takes a bar off the terminal; the lines of this log do so themselves.
void ClearBar();

// A line of the format text at this time, without its end; of lines each has time and level.
std::string TextLine(LogLevel level, const std::string& message);

// A copy of all lines as text, whatever the format and --quiet. `out` and `err`: the standard
// streams, where something else has taken their places.
struct LogCopy {
  std::FILE* out = nullptr;
  std::FILE* err = nullptr;
  std::function<void(const std::string& line)> add = nullptr;
};
void SetLogCopy(LogCopy copy);

}  // namespace tessera::cli
#endif  // TESSERA_CLI_SHOW_LOG_H_
