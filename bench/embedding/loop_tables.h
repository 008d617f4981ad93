#ifndef TESSERA_BENCH_EMBEDDING_LOOP_TABLES_H_
#define TESSERA_BENCH_EMBEDDING_LOOP_TABLES_H_
// The tables of a bare loop, whose dims may differ, and how threads share their bags.
#include <algorithm>
#include <cstdint>

namespace tessera::bench {

// A table's rows, and where the output, or the gradient, of its bag b begins: at
// pooled + b · stride elements. Of a sequence it is that of its b-th id.
struct LoopTable {
  void* rows = nullptr;
  int64_t dim = 0;
  void* pooled = nullptr;
  int64_t stride = 0;
};

// Calls fn(t, first bag, end bag) for what part `part` of `parts` has of each table, so that all
// parts have about as many elements of rows and outputs.
template <typename Fn>
void ForEachTablePart(const LoopTable* tables, int64_t num_tables, int64_t batch,
                      const int64_t* offsets, int64_t part, int64_t parts, const Fn& fn) {
  const auto elements = [&](int64_t t) {
    return (offsets[(t + 1) * batch] - offsets[t * batch] + batch) * tables[t].dim;
  };
  int64_t all = 0, before = 0;
  for (int64_t t = 0; t < num_tables; ++t) all += elements(t);
  for (int64_t t = 0; t < num_tables; before += elements(t++)) {
    const auto bag = [&](int64_t p) {
      return std::clamp<int64_t>((all * p / parts - before) * batch / elements(t), 0, batch);
    };
    if (bag(part) < bag(part + 1)) fn(t, bag(part), bag(part + 1));
  }
}

}  // namespace tessera::bench
#endif  // TESSERA_BENCH_EMBEDDING_LOOP_TABLES_H_
