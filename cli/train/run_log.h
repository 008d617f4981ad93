#ifndef TESSERA_CLI_TRAIN_RUN_LOG_H_
#define TESSERA_CLI_TRAIN_RUN_LOG_H_
// A copy of what this process prints, in a file: while this lives, stdout and stderr write both
// where they did and there. Bars of progress, which are redrawn, are left out. What is written
// past the C streams (std::cerr, a signal's last words) is not in the file.
#include <cstdio>
#include <memory>
#include <string>

namespace tessera::cli {

class RunLog {
 public:
  // Adds to the file, beginning with a line of its own. Throws Error when it cannot be written.
  RunLog(const std::string& path, const std::string& first_line);
  ~RunLog();
  RunLog(const RunLog&) = delete;
  RunLog& operator=(const RunLog&) = delete;

  // Adds a line to the file alone.
  void Write(const std::string& line);

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  // A stream that takes the place of `original`.
  struct Copied;

  std::unique_ptr<std::FILE, Close> file_;
  std::unique_ptr<Copied> out_, err_;
};

}  // namespace tessera::cli
#endif  // TESSERA_CLI_TRAIN_RUN_LOG_H_
