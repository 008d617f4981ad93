#include "optim/gradient_clipping_optimizer.h"

#include <algorithm>
#include <cmath>

#include "optim/clip_gradients_formulas.h"
#include "optim/state_dict.h"
#include "runtime/ops/kernels/row_lanes.h"

namespace tessera {
namespace {

using internal::ClipArgs;
using internal::kClipPiece;
using internal::NormType;
using internal::Rowwise;

// The gradients of a step, and the places of the clipped ones.
struct Gradients {
  std::vector<NamedParameter> variables;  // that have one
  std::vector<Tensor> from, to;           // hold the memory until the step has been given
  internal::ParameterRows<ClipArgs> rows;
  int64_t own = 0;  // pieces of gradients that are not replicated; they come first

  void Add(Context& ctx, const NamedParameter& p) {
    const bool in_place = p.variable.grad().unique() && p.variable.grad().is_contiguous();
    const Tensor& given = p.variable.grad();
    CheckDevice(ctx, "gradient clipping", given);
    variables.push_back(p);
    from.push_back(given.Contiguous(ctx));
    to.push_back(in_place ? from.back() : Tensor::Empty(ctx, given.shape()));
    const int64_t n = given.numel();
    rows.Add({from.back().data<float>(), to.back().data<float>(), n}, n, kClipPiece);
  }

  void Replace(Context& ctx) {
    for (size_t i = 0; i < variables.size(); ++i) {
      Variable& variable = variables[i].variable;
      variable.ZeroGrad();
      variable.AccumulateGrad(ctx, to[i]);
    }
  }
};

Gradients Collect(Context& ctx, const std::vector<NamedParameter>& variables,
                  const std::vector<std::string>& replicated) {
  Gradients gradients;
  const auto add = [&](bool is_replicated) {
    for (const NamedParameter& p : variables) {
      const bool listed =
          std::find(replicated.begin(), replicated.end(), p.name) != replicated.end();
      if (p.variable.grad().defined() && listed == is_replicated) gradients.Add(ctx, p);
    }
  };
  add(false);
  gradients.own = gradients.rows.pieces;
  add(true);
  return gradients;
}

// This rank's Σ|g|^p of its own gradients, and of the replicated ones: [2], f64.
Tensor Totals(Context& ctx, const Gradients& gradients,
              const internal::ParameterTable<ClipArgs>& table, const NormType& norm) {
  const int64_t pieces = gradients.rows.pieces;
  const Tensor sums = Tensor::Empty(ctx, {pieces}, DType::kF64),
               totals = Tensor::Empty(ctx, {2}, DType::kF64);
  Rowwise(ctx, pieces, internal::SumPiece{table, norm, sums.data<double>()}, /*grain=*/16);
  Rowwise(
      ctx, 2,
      internal::SumPieces{sums.data<double>(), gradients.own, pieces, norm, totals.data<double>()});
  return totals;
}

Tensor ScaleToNorm(Context& ctx, const Gradients& gradients,
                   const internal::ParameterTable<ClipArgs>& table,
                   const GradientClippingOptions& options) {
  const NormType norm = {options.norm_type, std::isinf(options.norm_type)};
  const Tensor totals = Totals(ctx, gradients, table, norm);
  if (options.over_ranks) options.over_ranks(ctx, totals.Narrow(0, 0, 1));
  const Tensor total_norm = Tensor::Empty(ctx, {}, DType::kF64), factor = Tensor::Empty(ctx, {});
  Rowwise(ctx, 1,
          internal::NormOfTotals{totals.data<double>(), norm, options.max_gradient,
                                 total_norm.data<double>(), factor.data<float>()});
  Rowwise(ctx, gradients.rows.pieces, internal::ScalePiece{table, factor.data<float>()},
          /*grain=*/16);
  return total_norm;
}

}  // namespace

std::string ToString(GradientClipping mode) {
  if (mode == GradientClipping::kNone) return "none";
  return mode == GradientClipping::kNorm ? "norm" : "value";
}

GradientClippingOptimizer::GradientClippingOptimizer(std::shared_ptr<Optimizer> optimizer,
                                                     GradientClippingOptions options)
    : OptimizerWrapper(std::move(optimizer)), options_(std::move(options)) {
  TESSERA_CHECK(options_.max_gradient > 0, "gradient clipping: max_gradient {}; expected above 0",
                options_.max_gradient);
  TESSERA_CHECK(options_.norm_type > 0, "gradient clipping: norm_type {}; expected above 0",
                options_.norm_type);
  const std::vector<std::string> keys = Keys();
  for (const std::string& key : options_.replicated)
    TESSERA_CHECK(std::find(keys.begin(), keys.end(), key) != keys.end(),
                  "gradient clipping: the optimizer has no parameter '{}'", key);
}

void GradientClippingOptimizer::Step(Context& ctx) {
  if (options_.mode != GradientClipping::kNone) {
    Gradients gradients = Collect(ctx, Variables(), options_.replicated);
    const internal::PlacedRows placed(ctx, gradients.rows);
    if (options_.mode == GradientClipping::kNorm)
      total_norm_ = ScaleToNorm(ctx, gradients, placed.table, options_);
    else
      Rowwise(ctx, gradients.rows.pieces,
              internal::ClampPiece{placed.table, static_cast<float>(options_.max_gradient)},
              /*grain=*/16);
    gradients.Replace(ctx);
  }
  OptimizerWrapper::Step(ctx);
}

}  // namespace tessera
