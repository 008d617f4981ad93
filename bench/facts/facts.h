#ifndef TESSERA_BENCH_FACTS_FACTS_H_
#define TESSERA_BENCH_FACTS_FACTS_H_
// Numbers by name that a row of results has beside its times. Names that end in "_bytes" and
// "_share" say their unit.
#include <string>
#include <utility>
#include <vector>

namespace tessera::bench {

using Facts = std::vector<std::pair<std::string, double>>;

}  // namespace tessera::bench
#endif  // TESSERA_BENCH_FACTS_FACTS_H_
