#ifndef TESSERA_SPARSE_OPS_OFFSETS_CHECK_H_
#define TESSERA_SPARSE_OPS_OFFSETS_CHECK_H_
// The cheap check of jagged structure: O(number of bags), no look at values. A device does it too,
// but then somebody has to wait for what it finds.
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "runtime/tensor.h"

namespace tessera {

struct OffsetsCheckArgs {
  const Tensor& lengths;                   // or undefined
  const Tensor& offsets;                   // or undefined, but not both
  std::span<const int64_t> group_offsets;  // group g is bags group_offsets[g] … group_offsets[g+1]
  int64_t values;                          // how many there are
  const char* what;                        // the container, for messages
  std::function<std::string(int64_t group)> name;  // of a group, for messages: "key \"a\"" or ""
};

// The number of values of each group. Throws Error naming group and bag if lengths are negative,
// offsets fall or don't start at 0, totals are not `values`, or lengths and offsets disagree.
// REQUIRES: in host memory.
std::vector<int64_t> CheckedTotals(const OffsetsCheckArgs& args);
// Checks on any device; waits for it once.
std::vector<int64_t> CheckedTotalsSync(Context& ctx, const OffsetsCheckArgs& args);

// Bags that lengths or offsets describe, by their shapes. Throws Error naming `what` if both are
// undefined, offsets are empty, either is neither i32 nor i64, not contiguous or not 1-D, or both
// are there and don't fit.
int64_t CheckedBags(const Tensor& lengths, const Tensor& offsets, const char* what);

// Throws Error naming `what` unless all that are defined lie on one device.
template <typename... Tensors>
void CheckOneDevice(const char* what, const Tensor& first, const Tensors&... others) {
  const auto check = [&](const Tensor& t) {
    TESSERA_CHECK(!t.defined() || t.device() == first.device(),
                  "{}: values lie on {}, and a tensor {} with them on {}", what, first.device(),
                  t.shape(), t.device());
  };
  (check(others), ...);
}

}  // namespace tessera
#endif  // TESSERA_SPARSE_OPS_OFFSETS_CHECK_H_
