#ifndef TESSERA_BENCH_COMM_COLLECTIVES_H_
#define TESSERA_BENCH_COMM_COLLECTIVES_H_
// The collectives that are timed. The size of a message is the bytes of what a rank gives or gets,
// whichever is larger. Bus bandwidth is what a rank's link would have to carry: size/time × (R −
// 1)/R, twice that for an all-reduce, and size/time for a broadcast.
#include <string>
#include <vector>

#include "comm/communicator.h"
#include "runtime/tensor.h"

namespace tessera::bench {

struct Collective {
  std::string name;
  double (*link_share)(double ranks);  // what part of a message crosses a rank's link
  // data: f32, all 1, of a number of elements that the ranks divide.
  Tensor (*run)(Communicator& comm, Context& ctx, const Tensor& data);
};
const std::vector<Collective>& Collectives();

// A message of at least `bytes`.
Tensor MakeMessage(const Communicator& comm, Context& ctx, int64_t bytes);
// Throws Error for a wrong result of MakeMessage's.
void CheckResult(const Communicator& comm, const Collective& collective, const Tensor& result);

}  // namespace tessera::bench
#endif  // TESSERA_BENCH_COMM_COLLECTIVES_H_
