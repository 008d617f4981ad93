#ifndef TESSERA_SPARSE_IDS_BUCKETIZE_H_
#define TESSERA_SPARSE_IDS_BUCKETIZE_H_
// Ids of jagged features dealt out to my_size buckets (ranks): what row-wise sharding does to its
// input. The result is jagged again, bucket-major [my_size][T][B]; inside a bag of a bucket the ids
// keep their order. Ids are taken as unsigned 64-bit numbers (a negative one counts as huge);
// nothing is checked against table sizes.
#include <vector>

#include "runtime/autograd.h"

namespace tessera {

struct Bucketized {
  Tensor lengths;              // [my_size · bags], dtype of the input's
  Tensor indices;              // [N]: new ids, dtype of the input's
  Variable weights;            // differentiable; undefined if none came
  Tensor pos;                  // [N]: place of each id in its old bag, if asked for
  Tensor unbucketize_permute;  // [N]: input id i went to slot [i], if asked for
  Tensor bucket_mapping;       // i64 [N]: the bucket that input id i went to, if asked for
};

struct BlockBucketizeArgs {
  Tensor lengths;      // [bags], feature-major, i32 or i64
  Tensor indices;      // [N] i32 or i64
  Tensor block_sizes;  // [T] i32 or i64: k of each feature
  int64_t my_size = 1;
  Variable weights = {};               // [N] or [N, w], f32
  bool bucketize_pos = false;          // return pos
  bool sequence = false;               // return unbucketize_permute
  bool bucket_mapping = false;         // return bucket_mapping; then waits for a device
  bool keep_orig_idx = false;          // ids stay as they are
  Tensor batch_size_per_feature = {};  // [T]: bags of each feature; default bags / T
  // For each feature, where its buckets begin: 0 = pos_0 <= … <= pos_last.
  std::vector<Tensor> block_bucketize_pos = {};
  Tensor total_num_blocks = {};           // [T]: G, a multiple of my_size; default my_size
  Tensor keep_orig_idx_per_feature = {};  // [T] bool; overrides keep_orig_idx
};

// Rules, with W = my_size, and u an id of a feature with block size k:
//
//   even blocks   u < k·G: bucket u div (k·G/W), new id u mod (k·G/W)
//                 else:    bucket (u mod G) div (G/W), new id u div G
//   boundaries    lb is the last i with pos_i <= u
//                 lb < W:  bucket lb, new id u − pos_lb
//                 else:    bucket u mod W, new id u div W
//                 k = 0:   lb is found for (u mod G)·pos_last div G instead; new id u div G
//
// Throws Error for lengths that don't sum to N, sizes that don't fit T, or boundaries that fall. On
// a device nobody waits, and only shapes are checked: ids of what is malformed may get lost.
Bucketized BlockBucketizeSparseFeatures(Context& ctx, const BlockBucketizeArgs& args);

// unbucketize_permute of a bucket_mapping: where input id i of `lengths` lies in a batch whose
// lengths are bucketized_lengths [my_size · bags]. Waits for a device.
Tensor PopulateBucketizedPermute(Context& ctx, const Tensor& lengths,
                                 const Tensor& bucketized_lengths, const Tensor& bucket_mapping);

// Cyclic: bucket u mod my_size, new id u div my_size.
Bucketized BucketizeSparseFeatures(Context& ctx, const Tensor& lengths, const Tensor& indices,
                                   int64_t my_size, bool bucketize_pos = false,
                                   const Variable& weights = {});

}  // namespace tessera
#endif  // TESSERA_SPARSE_IDS_BUCKETIZE_H_
