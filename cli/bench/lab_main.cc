// `lab …` is `tessera bench lab …` in a program of its own, which is built in seconds after a
// variant has changed.
#include <cstdio>
#include <vector>

#include "cli/command.h"
#include "cli/command_line.h"

int main(int argc, char** argv) {
  using namespace tessera::cli;
  std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);
  char bench[] = "bench", lab[] = "lab";
  std::vector<char*> words = {argv[0], bench, lab};
  words.insert(words.end(), argv + 1, argv + argc + 1);  // with the null behind them
  return RunCommandLine(argc + 2, words.data(), "Variants of kernels.", "", AddBenchCommand);
}
