#ifndef TESSERA_COMM_SLOW_COMMUNICATOR_H_
#define TESSERA_COMM_SLOW_COMMUNICATOR_H_
// A communicator as if over a slower network: for tests of overlap, and for plans that are measured
// on one machine. Each rank has one link, over which its calls go one after another: a call's bytes
// (the larger of those sent and received) take bytes ÷ bandwidth from when the link is free, and
// the result is there `latency_s` later, not sooner. Waiting for it sleeps.
#include <memory>

#include "comm/communicator.h"

namespace tessera {

struct SlowLink {
  double latency_s = 0;
  double bytes_per_s = 0;  // 0: any number of bytes takes no time
};

// Groups split from it share its link. REQUIRES: nothing in `link` is below 0.
std::unique_ptr<Communicator> MakeSlowCommunicator(std::unique_ptr<Communicator> inner,
                                                   const SlowLink& link);

}  // namespace tessera
#endif  // TESSERA_COMM_SLOW_COMMUNICATOR_H_
