#include "sparse/ids/bucketize.h"
#include "sparse/ops/cumsum.h"
#include "sparse/ops/permute.h"
#include "sparse/ops/row_runs.h"
#include "sparse/ops/segments.h"
#include "sparse/ops/select.h"
#include "sparse/regroup.h"
#include "tests/conformance/kjt_case.h"

namespace tessera::conformance {
namespace {

Answer Y(Tensor y) {
  Answer answer;
  answer.tensors["y"] = std::move(y);
  return answer;
}

template <typename Permuted>
Answer Permuted3(const Permuted& result) {
  Answer answer;
  answer.tensors = {
      {"lengths", result.lengths}, {"values", result.values}, {"weights", result.weights}};
  return answer;
}

Answer PermuteSequence(Context& ctx, const Case& c) {
  const PermutedEmbeddings result =
      PermuteSequenceEmbeddings(ctx, c.input("permute"), c.input("lengths"), c.input("embeddings"));
  Answer answer;
  answer.tensors = {{"lengths", result.lengths}, {"embeddings", result.embeddings}};
  return answer;
}

Answer FromBucketized(const Bucketized& result) {
  Answer answer;
  answer.tensors = {{"lengths", result.lengths},
                    {"indices", result.indices},
                    {"weights", result.weights},
                    {"pos", result.pos},
                    {"unbucketize_permute", result.unbucketize_permute}};
  return answer;
}

Answer BlockBucketize(Context& ctx, const Case& c) {
  return FromBucketized(BlockBucketizeSparseFeatures(
      ctx, {.lengths = c.input("lengths"),
            .indices = c.input("indices"),
            .block_sizes = c.input("block_sizes"),
            .my_size = c.attrs.at("my_size").get<int64_t>(),
            .weights = c.optional("weights"),
            .bucketize_pos = c.attrs.at("bucketize_pos").get<bool>(),
            .sequence = c.attrs.at("sequence").get<bool>(),
            .keep_orig_idx = c.attrs.at("keep_orig_idx").get<bool>(),
            .batch_size_per_feature = c.optional("batch_size_per_feature"),
            .block_bucketize_pos = ReadList(c, "block_bucketize_pos"),
            .total_num_blocks = c.optional("total_num_blocks"),
            .keep_orig_idx_per_feature = c.optional("keep_orig_idx_per_feature")}));
}

Answer Bucketize(Context& ctx, const Case& c) {
  return FromBucketized(BucketizeSparseFeatures(
      ctx, c.input("lengths"), c.input("indices"), c.attrs.at("my_size").get<int64_t>(),
      c.attrs.at("bucketize_pos").get<bool>(), c.optional("weights")));
}

Answer IndexSelect(Context& ctx, const Case& c) {
  Tensor lengths;
  Answer answer = Differentiate(ctx, c, {"values"}, "values", [&](const std::vector<Variable>& in) {
    const Jagged selected = JaggedIndexSelect(ctx, in[0], c.input("lengths"), c.input("indices"));
    lengths = selected.lengths;
    return selected.values;
  });
  answer.tensors["lengths"] = lengths;
  return answer;
}

Answer KeyedIndexSelect(Context& ctx, const Case& c) {
  return Permuted3(KeyedJaggedIndexSelectDim1(
      ctx, c.input("values"), c.input("lengths"), c.input("offsets"), c.input("indices"),
      c.attrs.at("batch_size").get<int64_t>(), c.optional("weights")));
}

Answer MaskedSelect(Context& ctx, const Case& c) {
  const Jagged selected =
      MaskedSelectJagged1d(ctx, c.input("values"), c.input("lengths"), c.input("mask"));
  Answer answer;
  answer.tensors = {{"values", selected.values}, {"lengths", selected.lengths}};
  return answer;
}

Answer RegroupArgs(Context& ctx, const Case& c) {
  using Lists = std::vector<std::vector<std::string>>;
  const RegroupArguments result =
      KtRegroupArguments(ctx, c.attrs.at("keys").get<Lists>(),
                         c.attrs.at("lengths").get<std::vector<std::vector<int64_t>>>(),
                         c.attrs.at("groups").get<Lists>());
  Answer answer;
  answer.tensors = {{"permutes", result.permutes},
                    {"in_shapes", result.in_shapes},
                    {"out_shapes", result.out_shapes},
                    {"out_lengths", Tensor::From(ctx, result.out_lengths)}};
  return answer;
}

std::vector<int64_t> Numbers(const Case& c, const std::string& name) {
  return ToInt64(c.input(name));
}

}  // namespace

const Ops& SegmentOps() {
  static const Ops ops = {
      {"fbgemm.asynchronous_complete_cumsum",
       [](Context& ctx, const Case& c) { return Y(CompleteCumsum(ctx, c.input("t_in"))); }},
      {"fbgemm.asynchronous_inclusive_cumsum",
       [](Context& ctx, const Case& c) { return Y(InclusiveCumsum(ctx, c.input("t_in"))); }},
      {"fbgemm.asynchronous_exclusive_cumsum",
       [](Context& ctx, const Case& c) { return Y(ExclusiveCumsum(ctx, c.input("t_in"))); }},
      {"fbgemm.lengths_range",
       [](Context& ctx, const Case& c) { return Y(LengthsRange(ctx, c.input("t_in"))); }},
      {"fbgemm.offsets_range",
       [](Context& ctx, const Case& c) {
         return Y(OffsetsRange(ctx, c.input("offsets"), c.attrs.at("range_size").get<int64_t>()));
       }},
      {"fbgemm.permute_2D_sparse_data",
       [](Context& ctx, const Case& c) {
         return Permuted3(Permute2dSparseData(ctx, c.input("permute"), c.input("lengths"),
                                              c.input("values"), c.optional("weights")));
       }},
      {"fbgemm.permute_1D_sparse_data",
       [](Context& ctx, const Case& c) {
         return Permuted3(Permute1dSparseData(ctx, c.input("permute"), c.input("lengths"),
                                              c.input("values"), c.optional("weights")));
       }},
      {"fbgemm.permute_sequence_embeddings", PermuteSequence},
      {"fbgemm.expand_into_jagged_permute",
       [](Context& ctx, const Case& c) {
         return Y(ExpandIntoJaggedPermute(ctx, c.input("permute"), c.input("input_offset"),
                                          c.input("output_offset"),
                                          c.attrs.at("output_size").get<int64_t>()));
       }},
      {"fbgemm.invert_permute",
       [](Context& ctx, const Case& c) { return Y(InvertPermute(ctx, c.input("permute"))); }},
      {"fbgemm.permute_pooled_embs",
       [](Context& ctx, const Case& c) {
         return Differentiate(ctx, c, {"pooled_embs"}, "y", [&](const std::vector<Variable>& in) {
           return PermutePooledEmbs(ctx, in[0], Numbers(c, "offset_dim_list"),
                                    Numbers(c, "permute_list"));
         });
       }},
      {"fbgemm.block_bucketize_sparse_features", BlockBucketize},
      {"fbgemm.bucketize_sparse_features", Bucketize},
      {"fbgemm.segment_sum_csr",
       [](Context& ctx, const Case& c) {
         return Y(SegmentSumCsr(ctx, c.attrs.at("batch_size").get<int64_t>(), c.input("csr_seg"),
                                c.input("values")));
       }},
      {"fbgemm.jagged_index_select", IndexSelect},
      {"fbgemm.keyed_jagged_index_select_dim1", KeyedIndexSelect},
      {"fbgemm.masked_select_jagged_1d", MaskedSelect},
      {"fbgemm.jagged_1d_to_truncated_values",
       [](Context& ctx, const Case& c) {
         return Y(Jagged1dToTruncatedValues(ctx, c.input("values"), c.input("lengths"),
                                            c.attrs.at("max_truncated_length").get<int64_t>()));
       }},
      {"fbgemm.kt_regroup_arguments", RegroupArgs},
  };
  return ops;
}

}  // namespace tessera::conformance
