#ifndef TESSERA_BENCH_LIMITS_STREAM_LOOPS_H_
#define TESSERA_BENCH_LIMITS_STREAM_LOOPS_H_
// Memory from one end to the other, as fast as the machine at hand lets it (-march=native): what is
// written goes past the caches. Addresses are multiples of 64; what lies behind the last whole 64
// bytes of a part is left out.
#include <cstdint>

namespace tessera::bench {

struct StreamRead {
  const float* from;
  int64_t floats;
  // Sums of what was read, so that the compiler keeps the reads.
  float* sums;  // [parts]
  void Run(int64_t part, int64_t parts) const;
};

struct StreamCopy {
  const float* from;
  float* to;
  int64_t floats;
  void Run(int64_t part, int64_t parts) const;
};

struct StreamWrite {
  float* to;
  int64_t floats;
  void Run(int64_t part, int64_t parts) const;
};

}  // namespace tessera::bench
#endif  // TESSERA_BENCH_LIMITS_STREAM_LOOPS_H_
