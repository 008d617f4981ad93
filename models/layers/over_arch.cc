#include "models/layers/over_arch.h"

#include "runtime/base/check.h"

namespace tessera {
namespace {

std::vector<int64_t> AllButLast(const std::vector<int64_t>& sizes) {
  TESSERA_CHECK(sizes.size() >= 2, "over arch: expected at least two sizes, got {}", sizes.size());
  return {sizes.begin(), sizes.end() - 1};
}

}  // namespace

OverArch::OverArch(Context& ctx, int64_t in, const std::vector<int64_t>& sizes)
    : mlp_(ctx, in, AllButLast(sizes)), last_(ctx, mlp_.out_size(), sizes.back()) {}

Variable OverArch::Forward(Context& ctx, const Variable& x) const {
  return last_.Forward(ctx, mlp_.Forward(ctx, x));
}

void OverArch::AppendParameters(const std::string& prefix, std::vector<NamedParameter>& out) const {
  mlp_.AppendParameters(prefix + "model.0.", out);
  last_.AppendParameters(prefix + "model.1.", out);
}

}  // namespace tessera
