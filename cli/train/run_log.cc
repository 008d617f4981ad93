#include "cli/train/run_log.h"

#include <cerrno>
#include <cstring>

#include "runtime/base/check.h"

namespace tessera::cli {

struct RunLog::Copied {
  Copied(std::FILE*& stream, std::FILE* copy)
      : place(stream),
        original(stream),
        log(copy),
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
  }

  // An error of the original stays with it, where the end of the command finds it.
  static ssize_t Write(void* cookie, const char* text, size_t size) {
    const Copied& self = *static_cast<Copied*>(cookie);
    std::fwrite(text, 1, size, self.original);
    std::fflush(self.original);
    if (size > 0 && text[0] != '\r') {
      std::fwrite(text, 1, size, self.log);
      std::fflush(self.log);
    }
    return static_cast<ssize_t>(size);
  }

  std::FILE*& place;
  std::FILE* original;
  std::FILE* log;
  std::FILE* both;
};

RunLog::RunLog(const std::string& path, const std::string& first_line)
    : file_(std::fopen(path.c_str(), "ab")) {
  if (file_ == nullptr)
    throw Error(Format("{}: cannot be written: {}", path, std::strerror(errno)));
  Write(first_line);
  out_ = std::make_unique<Copied>(stdout, file_.get());
  err_ = std::make_unique<Copied>(stderr, file_.get());
}

RunLog::~RunLog() = default;

void RunLog::Write(const std::string& line) {
  std::fprintf(file_.get(), "%s\n", line.c_str());
  std::fflush(file_.get());
}

}  // namespace tessera::cli
