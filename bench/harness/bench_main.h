#ifndef TESSERA_BENCH_HARNESS_BENCH_MAIN_H_
#define TESSERA_BENCH_HARNESS_BENCH_MAIN_H_
// The main function of every bench: a mistake is one line on stderr and exit code 1.
#include <cstdio>
#include <exception>

namespace tessera::bench {

inline int BenchMain(const char* name, int (*bench)(int, char**), int argc, char** argv) {
  try {
    return bench(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", name, error.what());
    return 1;
  }
}

}  // namespace tessera::bench
#endif  // TESSERA_BENCH_HARNESS_BENCH_MAIN_H_
