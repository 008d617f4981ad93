#include "bench/lab/guarded_bytes.h"

#include <cstring>

#include "runtime/base/check.h"

namespace tessera::bench {

GuardedBytes::GuardedBytes(int64_t size)
    : size_(size), lines_(static_cast<size_t>((size + kGuard - 1) / kGuard + 2)) {
  std::memset(lines_.data(), kPattern, lines_.size() * sizeof(Line));
}

void GuardedBytes::CheckGuards(const std::string& what) const {
  for (int64_t i = 0; i < kGuard; ++i) {
    TESSERA_CHECK(data()[-1 - i] == kPattern, "{}: {} bytes before it were written to", what,
                  i + 1);
    TESSERA_CHECK(data()[size() + i] == kPattern, "{}: byte {} behind it was written to", what, i);
  }
}

void GuardedBytes::CheckGuards(const std::string& what, int64_t row, int64_t stride) const {
  CheckGuards(what);
  for (int64_t begin = 0, r = 0; begin < size(); begin += stride, ++r)
    for (int64_t i = row; i < stride; ++i)
      TESSERA_CHECK(data()[begin + i] == kPattern,
                    "{}: byte {} behind the last column of row {} was written to", what, i - row,
                    r);
}

}  // namespace tessera::bench
