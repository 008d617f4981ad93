// `train …` is `tessera train …` in a program of its own, which is built in two thirds of the time:
// tools/quickstart shows a trained model before the rest is compiled.
#include <cstdio>
#include <vector>

#include "cli/command.h"
#include "cli/command_line.h"

int main(int argc, char** argv) {
  using namespace tessera::cli;
  std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);
  char train[] = "train";
  std::vector<char*> words = {argv[0], train};
  words.insert(words.end(), argv + 1, argv + argc + 1);  // with the null behind them
  return RunCommandLine(static_cast<int>(words.size()) - 1, words.data(), "Training alone.", "",
                        AddTrainCommand);
}
