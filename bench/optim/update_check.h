#ifndef TESSERA_BENCH_OPTIM_UPDATE_CHECK_H_
#define TESSERA_BENCH_OPTIM_UPDATE_CHECK_H_
// A check that holds for every rule's update: rows that the batch names stay finite and, if they
// are of f32, change (a small step may round away in 16 bits); others keep their bits.
#include <cstdint>
#include <vector>

#include "embedding/lookup/lookup.h"

namespace tessera::bench {

class UpdateCheck {
 public:
  // Before the update: keeps some rows of every table, both kinds. REQUIRES: rows on the
  // host; the tables outlive this.
  explicit UpdateCheck(const LookupArgs& args);
  // After it. Throws Error naming table and row.
  void Verify() const;

 private:
  struct Row {
    size_t table;
    int64_t number;
    bool named;
    DType type;
    const char* now;
    std::vector<char> before;
  };
  void Keep(const LookupFeature& feature, size_t table, int64_t row, bool named);

  std::vector<Row> rows_;
};

}  // namespace tessera::bench
#endif  // TESSERA_BENCH_OPTIM_UPDATE_CHECK_H_
