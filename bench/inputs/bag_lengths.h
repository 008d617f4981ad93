#ifndef TESSERA_BENCH_INPUTS_BAG_LENGTHS_H_
#define TESSERA_BENCH_INPUTS_BAG_LENGTHS_H_
// How many ids bags have: a number, a law, or the lengths of real bags.
#include <cstdint>
#include <string>
#include <vector>

#include "bench/inputs/draws.h"

namespace tessera::bench {

struct BagLengths {
  enum class Kind { kFixed, kPoisson, kRange, kAmazon };
  Kind kind = Kind::kFixed;
  double mean = 20;
  int64_t first = 0, last = 0;  // of a range, both possible
};

constexpr const char* kBagLengthsHelp =
    "N | poisson:MEAN | range:FIRST-LAST | amazon[:MEAN] | meta2021 | meta2022";

// Lengths from text:
//   20             of every bag
//   poisson:20     of a Poisson law with this mean
//   range:0-40     uniform, ends included
//   amazon         of the users' bags of Amazon books (a long tail: half have up to 7 ids, the mean
//                  is 11.5, the largest 2,631)
//   amazon:20      stretched to this mean
//   meta2021, meta2022   Amazon's, stretched to Meta's means, 8.3 and 13.6; more of Meta's lengths
//                  than the means is not known
// Throws Error that names what is allowed.
BagLengths ParseBagLengths(const std::string& text);

std::vector<int64_t> DrawLengths(const BagLengths& lengths, int64_t bags, Draws draws);

// Share of Amazon's bags that have at most `length` ids.
double AmazonBagsUpTo(double length);

}  // namespace tessera::bench
#endif  // TESSERA_BENCH_INPUTS_BAG_LENGTHS_H_
