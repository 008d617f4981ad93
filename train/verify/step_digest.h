#ifndef TESSERA_TRAIN_VERIFY_STEP_DIGEST_H_
#define TESSERA_TRAIN_VERIFY_STEP_DIGEST_H_
// The digest of what a step begins with, made of what each rank digests of its own: places are
// those of the whole batch and of whole tables, so that a sum over ranks does not know how they
// were cut (located_sum.h, row_hash.h).
#include <cstdint>
#include <vector>

#include "comm/communicator.h"
#include "train/verify/located_sum.h"

namespace tessera {

struct StepDigest {
  LocatedSum batch, rows, dense;

  bool operator==(const StepDigest&) const = default;
};

// Digests of what one rank has: its part of the batch, whose places begin at 0, rows that it alone
// holds, and what every rank has a copy of.
struct PartDigest {
  uint64_t examples = 0;
  LocatedSum batch = {}, rows = {}, copied_rows = {}, dense = {};
};

// Returns the digest of the whole as each rank has it: they differ only if copies do. Without ranks
// (`comm` is null) there is one. Every rank calls.
std::vector<StepDigest> DigestsOfRanksSync(Communicator* comm, const PartDigest& mine);

// Returns the numbers of all ranks, list by list, those of the first rank first. REQUIRES: as many
// lists on each. Every rank calls.
std::vector<std::vector<int64_t>> ListsOfRanksSync(Communicator* comm,
                                                   std::vector<std::vector<int64_t>> mine);

}  // namespace tessera
#endif  // TESSERA_TRAIN_VERIFY_STEP_DIGEST_H_
