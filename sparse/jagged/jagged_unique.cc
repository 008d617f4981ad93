#include "sparse/jagged/jagged_unique.h"

#include "sparse/ids/unique.h"
#include "sparse/ops/segments.h"

namespace tessera {

JaggedUnique JaggedUniqueIndices(Context& ctx, const Tensor& hash_size_offsets,
                                 const Tensor& offsets, const Tensor& indices) {
  const std::vector<int64_t> groups = CheckedOffsets(hash_size_offsets, "hash_size_offsets"),
                             bags = CheckedOffsets(offsets, "JaggedUniqueIndices: offsets");
  const int64_t features = groups.back(), num_bags = std::ssize(bags) - 1;
  TESSERA_CHECK(features == 0 ? num_bags == 0 : num_bags % features == 0,
                "JaggedUniqueIndices: {} bags of {} features", num_bags, features);
  TESSERA_CHECK_EQ(bags.back(), indices.numel(), "JaggedUniqueIndices: ids");
  const int64_t batch = features == 0 ? 0 : num_bags / features;
  std::vector<int64_t> group_offsets;
  for (const int64_t feature : groups)
    group_offsets.push_back(bags[static_cast<size_t>(feature * batch)]);
  const UniqueIds unique = UniquePerGroup(ctx, indices, group_offsets, /*counts=*/false);

  const std::vector<int64_t> begins = ToInt64(unique.group_offsets);
  std::vector<int64_t> lengths;
  for (size_t g = 0; g + 1 < groups.size(); ++g) {
    const int64_t ids = begins[g + 1] - begins[g], of_group = (groups[g + 1] - groups[g]) * batch;
    for (int64_t bag = 0; bag < of_group; ++bag)
      lengths.push_back(ids / of_group + (bag < ids % of_group ? 1 : 0));
  }
  return {.lengths = Tensor::From(ctx, lengths).To(ctx, offsets.dtype()),
          .offsets = Tensor::From(ctx, HostOffsets(lengths)).To(ctx, offsets.dtype()),
          .indices = unique.values,
          .inverse = unique.inverse};
}

}  // namespace tessera
