#ifndef TESSERA_TESTS_TESTING_ISA_LEVELS_H_
#define TESSERA_TESTS_TESTING_ISA_LEVELS_H_
// The instruction sets this CPU has, to run a test on each.
#include <vector>

#include "runtime/base/isa.h"

namespace tessera::testing {

inline std::vector<IsaLevel> IsaLevels() {
  std::vector<IsaLevel> levels;
  for (const IsaLevel level : CompiledIsaLevels())
    if (level <= BestIsa()) levels.push_back(level);
  return levels;
}

// Lookups and updates use `level` while it lives.
class ScopedIsa {
 public:
  explicit ScopedIsa(IsaLevel level) : before_(ChosenIsa()) { SetIsa(level); }
  ~ScopedIsa() { SetIsa(before_); }

 private:
  IsaLevel before_;
};

}  // namespace tessera::testing
#endif  // TESSERA_TESTS_TESTING_ISA_LEVELS_H_
