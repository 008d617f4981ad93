#ifndef TESSERA_BENCH_INPUTS_BAG_LENGTHS_H_
#define TESSERA_BENCH_INPUTS_BAG_LENGTHS_H_
// How many ids bags have: a number, a law, or the lengths of real bags.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "bench/inputs/draws.h"

namespace tessera::bench {

struct BagLengths {
  enum class Kind { kFixed, kPoisson, kRange, kAmazon, kTrace };
  Kind kind = Kind::kFixed;
  double mean = 20;
  int64_t first = 0, last = 0;                             // of a range, both possible
  std::shared_ptr<const std::vector<int64_t>> trace = {};  // of kTrace; never empty
};

constexpr const char* kBagLengthsHelp =
    "N | poisson:MEAN | range:FIRST-LAST | amazon[:MEAN] | meta2021 | meta2022 | trace:FILE "
    "(lengths, one a line, or a .npy file of them; or a file as --ids names it: those of its bags)";

// Lengths from text:
//   20             of every bag
//   poisson:20     of a Poisson law with this mean
//   range:0-40     uniform, ends included
//   amazon         of the users' bags of Amazon books (a long tail: half have up to 7 ids, the mean
//                  is 11.5, the largest 2,631)
//   amazon:20      stretched to this mean
//   meta2021, meta2022   Amazon's, stretched to Meta's means, 8.3 and 13.6; more of Meta's lengths
//                  than the means is not known
//   trace:FILE     those of a file in turn, bag after bag and table after table: text with one a
//                  line, a .npy file of i32 or i64, or those of the bags of a file of ids
//                  (id_file.h: trace:lines:FILE, trace:fbgemm:FILE, …), of all its tables
// Throws Error that names what is allowed, or the place in the file that is no length.
BagLengths ParseBagLengths(const std::string& text);

// The lengths of bags `first_bag` and on, which only a trace asks for.
std::vector<int64_t> DrawLengths(const BagLengths& lengths, int64_t bags, Draws& draws,
                                 int64_t first_bag = 0);

// Share of Amazon's bags that have at most `length` ids.
double AmazonBagsUpTo(double length);

}  // namespace tessera::bench
#endif  // TESSERA_BENCH_INPUTS_BAG_LENGTHS_H_
