#ifndef TESSERA_COMM_SLOW_COMMUNICATOR_H_
#define TESSERA_COMM_SLOW_COMMUNICATOR_H_
// A communicator as if over a slower network: for tests of overlap, and for plans that are measured
// on one machine. Each rank has one link, over which its calls go one after another: a call's bytes
// (the larger of those sent and received) take bytes ÷ bandwidth from when the link is free, and
// the result is there `latency_s` later, not sooner. Waiting for it sleeps.
//
// With nodes of several ranks, each rank has a second link to those of its node. Both work at the
// same time; a call's result is there when both have it.
#include <atomic>
#include <memory>

#include "comm/communicator.h"

namespace tessera {

struct SlowLink {
  double latency_s = 0;
  double bytes_per_s = 0;  // 0: any number of bytes takes no time
};

// Payload bytes that ranks have sent, by the link they took.
struct LinkTraffic {
  std::atomic<int64_t> between = 0, inside = 0;
};

struct SlowNodes {
  int local_size = 1;         // consecutive ranks of the first group that are one node
  SlowLink between = {};      // to ranks of other nodes
  SlowLink inside = {};       // to ranks of the same node
  LinkTraffic* traffic = {};  // if given, every call adds to it
};

// Groups split from it share its links. REQUIRES: nothing in the links is below 0, and local_size
// divides the ranks.
std::unique_ptr<Communicator> MakeSlowCommunicator(std::unique_ptr<Communicator> inner,
                                                   const SlowNodes& nodes);
// Over one kind of link.
std::unique_ptr<Communicator> MakeSlowCommunicator(std::unique_ptr<Communicator> inner,
                                                   const SlowLink& link);

}  // namespace tessera
#endif  // TESSERA_COMM_SLOW_COMMUNICATOR_H_
