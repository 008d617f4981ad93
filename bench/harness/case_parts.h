#ifndef TESSERA_BENCH_HARNESS_CASE_PARTS_H_
#define TESSERA_BENCH_HARNESS_CASE_PARTS_H_
// Names of a sweep's cases, "dim=64,rows=1M", taken apart: what all cases share, and what sets one
// apart. Names of a suite's cases are no such lists, and stay whole.
#include <string>
#include <vector>

namespace tessera::bench {

class CaseParts {
 public:
  explicit CaseParts(const std::vector<std::string>& names);

  // "rows=1M" and others, in the order of the names.
  const std::vector<std::string>& shared() const { return shared_; }
  // The name without what all share; "" where that is all of it.
  std::string OwnPart(const std::string& name) const;

 private:
  std::vector<std::string> shared_;
};

}  // namespace tessera::bench
#endif  // TESSERA_BENCH_HARNESS_CASE_PARTS_H_
