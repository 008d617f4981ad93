#ifndef TESSERA_CLI_TRAIN_RUN_LOG_H_
#define TESSERA_CLI_TRAIN_RUN_LOG_H_
// A copy of what this process prints, in a file, each line with its time and level as the format
// text of the log has them (cli/show/log.h): while this lives, the lines of the log are copied, in
// any format and with --quiet, and stdout and stderr write both where they did and there. What is
// written past the C streams (std::cerr, a signal's last words) is not in the file.
#include <cstdio>
#include <memory>
#include <string>

namespace tessera::cli {

class RunLog {
 public:
  // Adds to the file, beginning with a message of its own. Throws Error when it cannot be written.
  RunLog(const std::string& path, const std::string& first);
  ~RunLog();
  RunLog(const RunLog&) = delete;
  RunLog& operator=(const RunLog&) = delete;

  // Adds an error to the file alone.
  void AddError(const std::string& message);

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  // A stream that takes the place of `original`.
  struct Copied;

  void Add(const std::string& line);

  std::unique_ptr<std::FILE, Close> file_;
  std::unique_ptr<Copied> out_, err_;
};

}  // namespace tessera::cli
#endif  // TESSERA_CLI_TRAIN_RUN_LOG_H_
