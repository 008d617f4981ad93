// `lab …` is `tessera bench lab …` in a program of its own, which is built in seconds after a
// variant has changed. It is called `lab bench lab …` by a tessera or another one that is timed
// against it.
#include <cstdio>
#include <string_view>
#include <vector>

#include "cli/command.h"
#include "cli/command_line.h"

int main(int argc, char** argv) {
  using namespace tessera::cli;
  std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);
  char bench[] = "bench", lab[] = "lab";
  std::vector<char*> words = {argv[0], bench, lab};
  const bool whole =
      argc > 2 && std::string_view(argv[1]) == bench && std::string_view(argv[2]) == lab;
  words.insert(words.end(), argv + (whole ? 3 : 1), argv + argc + 1);  // with the null behind them
  return RunCommandLine(static_cast<int>(words.size()) - 1, words.data(), "Variants of kernels.",
                        "", AddBenchCommand);
}
