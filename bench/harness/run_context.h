#ifndef TESSERA_BENCH_HARNESS_RUN_CONTEXT_H_
#define TESSERA_BENCH_HARNESS_RUN_CONTEXT_H_
// A result depends on more than its code. The data file of a run says when it was made, by which
// command and which build of which commit, by which compiler and flags, and on which instruction
// set, caches, page sizes, clock governor and kernel.
#include <string>
#include <utility>
#include <vector>

namespace tessera::bench {

// By name: "time" (UTC, ISO 8601), "command", "commit" ("unknown" outside of a checkout), "build",
// "compiler", "flags", "isa", "caches", "huge_pages", "governor", "kernel".
std::vector<std::pair<std::string, std::string>> RunContext();

}  // namespace tessera::bench
#endif  // TESSERA_BENCH_HARNESS_RUN_CONTEXT_H_
