#include "sparse/batched_unary_embeddings.h"
#include "sparse/histogram_binning_calibration.h"
#include "tests/conformance/kjt_case.h"

namespace tessera::conformance {
namespace {

Answer Unary(Context& ctx, const Case& c) {
  return Differentiate(ctx, c, {"weight"}, "y", [&](const std::vector<Variable>& in) {
    return BatchedUnaryEmbeddings(ctx, in[0], c.input("table_offsets"), c.input("offsets"),
                                  c.input("indices"));
  });
}

HistogramBins Bins(const Case& c) {
  return {c.input("bin_num_examples"), c.input("bin_num_positives"),
          c.attrs.at("positive_weight").get<double>(),
          c.attrs.at("bin_ctr_in_use_after").get<int64_t>(),
          c.attrs.at("bin_ctr_weight_value").get<double>()};
}

HistogramSegments Segments(const Case& c) {
  return {c.input("segment_value"), c.input("segment_lengths"),
          c.attrs.at("num_segments").get<int64_t>()};
}

Answer Scores(const Calibrated& result) {
  Answer answer;
  answer.tensors = {{"y", result.y}, {"bin_ids", result.bin_ids}};
  return answer;
}

double Bound(const Case& c, const char* name) { return c.attrs.at(name).get<double>(); }

}  // namespace

const Ops& ScoreOps() {
  static const Ops ops = {
      {"fbgemm.batched_unary_embeddings", Unary},
      {"fbgemm.histogram_binning_calibration",
       [](Context& ctx, const Case& c) {
         return Scores(HistogramBinningCalibration(
             ctx, c.input("logit"), Bins(c), Bound(c, "lower_bound"), Bound(c, "upper_bound")));
       }},
      {"fbgemm.histogram_binning_calibration_by_feature",
       [](Context& ctx, const Case& c) {
         return Scores(HistogramBinningCalibrationByFeature(
             ctx, c.input("logit"), Bins(c), Segments(c), c.attrs.at("num_bins").get<int64_t>(),
             Bound(c, "lower_bound"), Bound(c, "upper_bound")));
       }},
      {"fbgemm.generic_histogram_binning_calibration_by_feature",
       [](Context& ctx, const Case& c) {
         return Scores(GenericHistogramBinningCalibrationByFeature(
             ctx, c.input("logit"), Bins(c), Segments(c), c.input("bin_boundaries")));
       }},
  };
  return ops;
}

}  // namespace tessera::conformance
