// A fuzz target as a test: the good inputs, then bad ones made from them, 10,000 or, where
// TESSERA_TEST_ALL is set, 100,000.
//
//   X_fuzz                  all of them
//   X_fuzz --round N        bad input N alone, left in X_fuzz.input
//   X_fuzz FILE…            these files
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fstream>
#include <iterator>

#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/mutator.h"

// Sanitizers call this before they end the process; absent without one.
extern "C" __attribute__((weak)) void __sanitizer_set_death_callback(void (*callback)());

namespace {

uint64_t round_now = 0;

void SayRound() {
  std::fprintf(stderr, "it was bad input %llu: --round %llu makes it again\n",
               static_cast<unsigned long long>(round_now),
               static_cast<unsigned long long>(round_now));
}

void OnSignal(int signal) {
  SayRound();
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

void WatchForTheEnd() {
  if (__sanitizer_set_death_callback != nullptr) {
    __sanitizer_set_death_callback(SayRound);
    std::signal(SIGABRT, OnSignal);  // std::terminate
    std::signal(SIGILL, OnSignal);   // __builtin_trap
    return;
  }
  for (const int signal : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL}) std::signal(signal, OnSignal);
}

void Run(const std::string& input) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(input.data()), input.size());
}

int RunFiles(int count, char** paths) {
  for (int i = 0; i < count; ++i) {
    std::ifstream file(paths[i], std::ios::binary);
    Run({std::istreambuf_iterator<char>(file), {}});
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> seeds = tessera::fuzz::Seeds();
  const tessera::fuzz::Mutator mutator(seeds);
  WatchForTheEnd();
  if (argc == 3 && std::strcmp(argv[1], "--round") == 0) {
    round_now = std::strtoull(argv[2], nullptr, 10);
    const std::string input = mutator.Make(round_now);
    std::ofstream(std::string(argv[0]) + ".input", std::ios::binary) << input;
    Run(input);
    return 0;
  }
  if (argc > 1) return RunFiles(argc - 1, argv + 1);
  for (const std::string& seed : seeds) Run(seed);
  const uint64_t rounds = std::getenv("TESSERA_TEST_ALL") != nullptr ? 100'000 : 10'000;
  for (round_now = 1; round_now <= rounds; ++round_now) Run(mutator.Make(round_now));
  std::printf("%zu good inputs, %llu bad ones\n", seeds.size(),
              static_cast<unsigned long long>(rounds));
}
