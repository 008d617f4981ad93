#include "cli/train/run_log.h"

#include <cerrno>
#include <cstring>
#include <functional>
#include <utility>

#include "cli/show/log.h"
#include "runtime/base/check.h"

namespace tessera::cli {

struct RunLog::Copied {
  Copied(std::FILE*& stream, LogLevel level_of_lines, std::function<void(const std::string&)> copy)
      : place(stream),
        original(stream),
        level(level_of_lines),
        add(std::move(copy)),
        both(fopencookie(this, "w", {nullptr, Write, nullptr, nullptr})) {
    if (both == nullptr) throw Error("the output of this process cannot be copied to a log");
    std::setvbuf(both, nullptr, _IOLBF, BUFSIZ);
    std::fflush(original);
    place = both;
  }
  ~Copied() {
    std::fflush(both);
    place = original;
    std::fclose(both);
    if (!begun.empty()) add(TextLine(level, begun));
  }

  // An error of the original stays with it, where the end of the command finds it.
  static ssize_t Write(void* cookie, const char* text, size_t size) {
    Copied& self = *static_cast<Copied*>(cookie);
    std::fwrite(text, 1, size, self.original);
    std::fflush(self.original);
    self.begun.append(text, size);
    for (size_t end = 0; (end = self.begun.find('\n')) != std::string::npos;) {
      self.add(TextLine(self.level, self.begun.substr(0, end)));
      self.begun.erase(0, end + 1);
    }
    return static_cast<ssize_t>(size);
  }

  std::FILE*& place;
  std::FILE* original;
  LogLevel level;
  std::function<void(const std::string&)> add;
  std::string begun;  // a line that has not ended
  std::FILE* both;
};

RunLog::RunLog(const std::string& path, const std::string& first)
    : file_(std::fopen(path.c_str(), "ab")) {
  if (file_ == nullptr)
    throw Error(Format("{}: cannot be written: {}", path, std::strerror(errno)));
  const auto add = [this](const std::string& line) { Add(line); };
  Add(TextLine(LogLevel::kInfo, first));
  out_ = std::make_unique<Copied>(stdout, LogLevel::kInfo, add);
  err_ = std::make_unique<Copied>(stderr, LogLevel::kWarning, add);
  SetLogCopy({.out = out_->original, .err = err_->original, .add = add});
}

RunLog::~RunLog() { SetLogCopy({}); }

void RunLog::AddError(const std::string& message) { Add(TextLine(LogLevel::kError, message)); }

void RunLog::Add(const std::string& line) {
  std::fprintf(file_.get(), "%s\n", line.c_str());
  std::fflush(file_.get());
}

}  // namespace tessera::cli
