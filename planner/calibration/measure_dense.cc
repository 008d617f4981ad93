#include "planner/calibration/measure_dense.h"

#include "quant/wire_codec.h"
#include "runtime/autograd.h"
#include "runtime/ops/linear.h"

namespace tessera {
namespace {

// A layer that takes so long shows the machine's speed, not that of its calls; a GPU's has to be
// larger than 512 x 512 for that.
constexpr double kLongEnough = 1e-3;

}  // namespace

void MeasureDense(Rounds& rounds, const MeasureSizes& sizes, MachineProfile& profile) {
  const int64_t batch = sizes.Bags(512);
  Context& ctx = rounds.ctx();
  double last = 0;
  for (const int64_t width : {16, 64, 256, 512, 2048, 8192}) {
    if (width > 512 && (ctx.device() == Device::Cpu() || last > kLongEnough)) break;
    const Variable x(Tensor::Full(ctx, {batch, width}, 0.5), /*requires_grad=*/true),
        weight(Tensor::Full(ctx, {width, width}, 0.01), /*requires_grad=*/true),
        bias(Tensor::Zeros(ctx, {width}), /*requires_grad=*/true);
    const Tensor grad = Tensor::Full(ctx, {batch, width}, 1e-3);
    const double seconds = rounds.Median([&] {
      Tape tape(ctx);
      tape.Backward(LinearRelu(ctx, x, weight, bias), grad);
    });
    last = seconds;
    const auto flops = static_cast<double>(3 * 2 * batch * width * width);
    profile.dense.push_back({flops, seconds / flops});
  }
}

void MeasureCodecs(Rounds& rounds, const MeasureSizes& sizes, MachineProfile& profile) {
  constexpr int64_t kColumns = 64;
  Context& ctx = rounds.ctx();
  const Tensor rows = Tensor::Full(ctx, {sizes.Bags(4096), kColumns}, 0.25);
  for (const WireType type : {WireType::kFp16, WireType::kBf16, WireType::kFp8, WireType::kFp8Rows,
                              WireType::kFp8RowsE5, WireType::kInt8, WireType::kMx4}) {
    const WireCodec codec{type};
    Tensor bytes;
    const double encode = rounds.Median([&] { bytes = Encode(ctx, codec, rows); });
    const double decode = rounds.Median([&] { Decode(ctx, codec, bytes, rows.shape()); });
    const auto elements = static_cast<double>(rows.numel());
    profile.codecs[type] = {encode / elements, decode / elements};
  }
}

}  // namespace tessera
