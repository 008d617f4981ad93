#include "cli/show/log.h"

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string_view>

#include "runtime/base/check.h"
#include "runtime/base/process_text.h"

namespace tessera::cli {
namespace {

constexpr std::string_view kErrorMark = "tessera: ";

enum class Form { kPlain, kText, kJson };

struct State {
  std::mutex mutex;
  LogOptions options;
  bool notes_on_err = false, bar = false;
  LogCopy copy;
};

State& TheState() {
  static State& state = *new State;  // threads may outlive main
  return state;
}

bool IsTerminal() {
  static const bool is_terminal = isatty(STDERR_FILENO) != 0;
  return is_terminal;
}

Form FormOnErr(const LogOptions& options) {
  if (options.format == "json") return Form::kJson;
  return options.format.empty() && IsTerminal() ? Form::kPlain : Form::kText;
}

std::string Now() { return UtcTimeText(std::chrono::system_clock::now()); }

struct LevelName {
  const char* text;
  const char* json;
};

LevelName NameOf(LogLevel level) {
  if (level == LogLevel::kInfo) return {"INFO ", "info"};
  return level == LogLevel::kWarning ? LevelName{"WARN ", "warning"} : LevelName{"ERROR", "error"};
}

std::string JsonLine(LogLevel level, const std::string& message, const LogFields& fields) {
  using Json = nlohmann::ordered_json;
  Json json = {{"time", Now()}, {"level", NameOf(level).json}, {"message", message}};
  for (const auto& [name, value] : fields)
    std::visit([&](const auto& v) { json[name] = v; }, value);
  // Names of files may be no UTF-8.
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string PlainLine(LogLevel level, const std::string& message) {
  return (level == LogLevel::kError ? std::string(kErrorMark) : "") + message;
}

std::string WithoutBlankLines(const std::string& message) {
  const size_t first = message.find_first_not_of('\n');
  if (first == std::string::npos) return "";
  return message.substr(first, message.find_last_not_of('\n') + 1 - first);
}

std::string LineOf(Form form, LogLevel level, const std::string& message, const LogFields& fields) {
  if (form == Form::kPlain) return PlainLine(level, message);
  const std::string text = WithoutBlankLines(message);
  return form == Form::kText ? TextLine(level, text) : JsonLine(level, text, fields);
}

void Clear(State& state) {
  if (!std::exchange(state.bar, false)) return;
  std::FILE* const err = state.copy.err != nullptr ? state.copy.err : stderr;
  std::fputs("\r\x1b[K", err);
  std::fflush(err);
}

void Print(std::FILE* stream, const std::string& line) {
  std::fprintf(stream, "%s\n", line.c_str());
  std::fflush(stream);
}

struct LineKind {
  bool is_note = false;       // goes to standard output where there is no --log-format
  bool may_be_quiet = false;  // --quiet leaves it out
};
constexpr LineKind kNote = {.is_note = true, .may_be_quiet = true}, kAlways = {.is_note = true},
                   kProgress = {.may_be_quiet = true}, kProblem = {};

// Writes a line to the copy, and to standard output as it is or to standard error in its form.
void Write(LogLevel level, const std::string& message, const LogFields& fields, LineKind kind) {
  State& state = TheState();
  std::fflush(stdout);  // lines that were printed before stay before
  const std::lock_guard lock(state.mutex);
  const std::string lines = message.substr(0, message.size() - (message.ends_with('\n') ? 1 : 0));
  if (state.copy.add) state.copy.add(TextLine(level, lines));
  if (state.options.quiet && kind.may_be_quiet) return;
  Clear(state);
  if (kind.is_note && state.options.format.empty() && !state.notes_on_err)
    Print(state.copy.out != nullptr ? state.copy.out : stdout, lines);
  else
    Print(state.copy.err != nullptr ? state.copy.err : stderr,
          LineOf(FormOnErr(state.options), level, lines, fields));
}

}  // namespace

void SetLog(LogOptions options) { TheState().options = std::move(options); }

void Note(const std::string& message, const LogFields& fields) {
  Write(LogLevel::kInfo, message, fields, kNote);
}

void NoteAlways(const std::string& message, const LogFields& fields) {
  Write(LogLevel::kInfo, message, fields, kAlways);
}

void NoteProgress(const std::string& message, const LogFields& fields) {
  Write(LogLevel::kInfo, message, fields, kProgress);
}

void Warn(const std::string& message, const LogFields& fields) {
  Write(LogLevel::kWarning, message, fields, kProblem);
}

void NoteError(const std::string& message, const LogFields& fields) {
  Write(LogLevel::kError, message, fields, kProblem);
}

std::string LastErrorLine(const std::string& message) {
  const Form form = TheState().options.format == "json" ? Form::kJson : Form::kPlain;
  return LineOf(form, LogLevel::kError, message, {}) + "\n";
}

int SayLastError(const std::string& why) {
  const std::string line = LastErrorLine(why);
  std::fwrite(line.data(), 1, line.size(), stderr);
  return 1;
}

std::optional<std::string> ErrorOfLine(const std::string& line) {
  if (line.starts_with(kErrorMark)) return line.substr(kErrorMark.size());
  if (!line.starts_with('{')) return {};
  const auto json = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || json.value("level", "") != NameOf(LogLevel::kError).json) return {};
  return json.value("message", "");
}

void NotesToStandardError() { TheState().notes_on_err = true; }

bool ShowsBar() { return ShowsProgress() && FormOnErr(TheState().options) == Form::kPlain; }

bool ShowsProgress() { return !TheState().options.quiet; }

void DrawBar(const std::string& line) {
  State& state = TheState();
  const std::lock_guard lock(state.mutex);
  state.bar = true;
  std::FILE* const err = state.copy.err != nullptr ? state.copy.err : stderr;
  std::fprintf(err, "\r%s\x1b[K", line.c_str());
  std::fflush(err);
}

void ClearBar() {
  State& state = TheState();
  const std::lock_guard lock(state.mutex);
  Clear(state);
}

std::string TextLine(LogLevel level, const std::string& message) {
  const std::string begin = Format("{} {} ", Now(), NameOf(level).text);
  std::string text = begin;
  for (const char letter : message) text += letter == '\n' ? "\n" + begin : std::string(1, letter);
  return text;
}

void SetLogCopy(LogCopy copy) {
  State& state = TheState();
  const std::lock_guard lock(state.mutex);
  state.copy = std::move(copy);
}

}  // namespace tessera::cli
