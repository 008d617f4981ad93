#ifndef TESSERA_RUNTIME_BASE_SIZE_LIMITS_H_
#define TESSERA_RUNTIME_BASE_SIZE_LIMITS_H_
// How large the numbers may be that files, configurations, requests and callers name, and products
// of such numbers. A bound here is beyond what a computer holds, so nobody meets it by intent;
// below all of them no product of a table's sizes leaves 63 bits. Whether the memory is there is
// another question (memory_limit.h).
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

namespace tessera {

// The most of each.
struct SizeLimits {
  static constexpr int64_t kRows = int64_t{1} << 48;      // of a table, of data, ids of a remap
  static constexpr int64_t kDim = int64_t{1} << 20;       // columns of a table, a layer, data
  static constexpr int64_t kElements = int64_t{1} << 48;  // of a table: 1 PiB of f32
  static constexpr int64_t kBytes = int64_t{1} << 50;     // of a cache, a stored table
  static constexpr int64_t kBatch = int64_t{1} << 32;     // examples
  static constexpr int64_t kIdsABag = int64_t{1} << 20;   // of made-up data
  static constexpr int64_t kSteps = int64_t{1} << 40;     // and epochs
  static constexpr int64_t kLayers = 1024;
  static constexpr int64_t kWays = 256;                 // of a set of a row cache
  static constexpr int64_t kGroups = int64_t{1} << 24;  // of examples in metrics, classes of labels
  static constexpr int64_t kThreads = 4096;             // of a process
  static constexpr int64_t kRanks = int64_t{1} << 20;
};

// The product. Throws Error, which begins with `what`, unless it fits 63 bits. REQUIRES: no factor
// is negative.
int64_t CheckedProduct(std::string_view what, std::initializer_list<int64_t> factors);
// Returns the sum of `terms`, or throws Error if it overflows; `what` names it in the error.
int64_t CheckedSum(std::string_view what, std::initializer_list<int64_t> terms);

// Throw Error, which begins with `where`, unless value is 1 to `most`, or 0 to `most`.
void CheckPositive(int64_t value, int64_t most, std::string_view where);
void CheckCount(int64_t value, int64_t most, std::string_view where);
// Sizes of layers: each 1 to SizeLimits::kDim, kLayers of them at most.
void CheckLayers(std::span<const int64_t> sizes, const std::string& where);
// Checks the rows and columns of a table and their product.
void CheckTableSize(int64_t rows, int64_t dim, const std::string& where);

}  // namespace tessera
#endif  // TESSERA_RUNTIME_BASE_SIZE_LIMITS_H_
