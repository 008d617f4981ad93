#include "bench/lab/lookup_variants.h"

#include "bench/lab/lookup_plain.h"
#include "bench/lab/lookup_policies.h"

namespace tessera::bench {

const std::vector<LookupVariant>& LookupVariants() {
  static const std::vector<LookupVariant> variants = {
      {"plain", "the obvious loop", LookupPlain},
      {"ahead_0", "no row asked for ahead", LookupAhead0},
      {"ahead_8", "rows asked for 8 ids ahead", LookupAhead8},
      {"ahead_16", "rows asked for 16 ids ahead", LookupAhead16},
      {"ahead_256", "rows asked for 256 ids ahead", LookupAhead256},
      {"ahead_16_l1", "16 ids ahead, into the first-level cache", LookupAhead16L1},
      {"ahead_64_l1", "64 ids ahead, into the first-level cache", LookupAhead64L1},
      {"plain_stores", "sums written through the caches", LookupPlainStores},
      {"two_bags", "two bags summed side by side", LookupTwoBags},
  };
  return variants;
}

}  // namespace tessera::bench
