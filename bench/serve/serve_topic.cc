#include "bench/serve/serve_topic.h"

#include <cmath>
#include <memory>

#include "bench/harness/criteo_rows.h"
#include "bench/harness/scratch_folder.h"
#include "bench/serve/served_dlrm.h"
#include "quant/row_codec.h"
#include "runtime/base/check.h"
#include "runtime/tensor.h"
#include "serve/dense_part.h"
#include "serve/predictor.h"

namespace tessera::bench {
namespace {

constexpr int kRequests = 64;  // that calls go round

// A predictor, and requests of one size to it.
class Client {
 public:
  explicit Client(const Point& point)
      : scratch_(""),
        ctx_({.threads = 1}),
        predictor_(WriteServedDlrm(scratch_.path(), point.Int("dim"), point.Int("rows"),
                                   point.Text("codec")),
                   {.threads = static_cast<int>(point.Int("threads"))}),
        model_(predictor_.model()) {
    Draws draws(11, 0);
    for (int i = 0; i < kRequests; ++i)
      requests_.push_back(DrawRequest(draws, model_->spec(), point.Int("batch")));
  }

  std::vector<float> Ask(int round) {
    const RawRequest& raw = requests_[static_cast<size_t>(round) % requests_.size()];
    return predictor_.Predict(RequestOf(ctx_, *model_, raw));
  }
  // A request of several examples gets what each example alone gets.
  void Check() {
    const std::vector<float> together = Ask(0);
    const RawRequest& raw = requests_[0];
    TESSERA_CHECK_EQ(std::ssize(together), raw.batch, "scores of a request");
    const std::vector<float> last = predictor_.Predict(RequestOf(ctx_, *model_, LastOf(raw)));
    TESSERA_CHECK(std::abs(last[0] - together.back()) < 1e-4f,
                  "the last example's score is {}, and alone {}", together.back(), last[0]);
  }
  const serve::ModelSpec& spec() const { return model_->spec(); }

 private:
  static RawRequest LastOf(const RawRequest& raw) {
    const auto numbers = std::ssize(raw.dense) / raw.batch;
    RawRequest last{.batch = 1, .dense = {raw.dense.end() - numbers, raw.dense.end()}, .ids = {}};
    for (auto i = raw.batch - 1; i < std::ssize(raw.ids); i += raw.batch)
      last.ids.push_back(raw.ids[static_cast<size_t>(i)]);
    return last;
  }

  ScratchFolder scratch_;
  Context ctx_;
  serve::Predictor predictor_;
  std::shared_ptr<const serve::ServedModel> model_;
  std::vector<RawRequest> requests_;
};

// Packed as that of a served model is.
Contender DensePart(Context& ctx, const serve::ModelSpec& spec, int64_t batch) {
  const auto dense = std::make_shared<serve::DensePart>(ctx, spec);
  dense->KeepPacked(ctx);
  const Tensor x = Tensor::Zeros(ctx, {batch, ClickRow::kIntegers});
  const Tensor pooled =
      Tensor::Zeros(ctx, {batch, std::ssize(spec.tables) * spec.tables.front().dim});
  return {"dense part", [=, &ctx](int) { dense->Predict(ctx, x, pooled); }};
}

Work MakeWork(Context& ctx, const Point& point) {
  const auto client = std::make_shared<Client>(point);
  Work work;
  work.check = [client] { client->Check(); };
  work.contenders = {{"tessera", [client](int round) { client->Ask(round); }}};
  work.limit = DensePart(ctx, client->spec(), point.Int("batch"));
  work.items = point.Int("batch");
  work.item = "examples";
  return work;
}

std::vector<Point> PeerPoints() {
  std::vector<Point> points;
  for (const std::string dim : {"16", "64"})
    for (const std::string type : {"fp32", "int8", "int4"})
      for (const std::string batch : {"1", "64"})
        points.emplace_back(
            "D" + dim + "_" + type + "_B" + batch,
            PointValues{{"dim", dim}, {"codec", type == "fp32" ? "f32" : type}, {"batch", batch}});
  return points;
}

}  // namespace

const Topic& ServeTopic() {
  static const Topic topic = {
      .name = "serve",
      .help = "One request after another to a served DLRM with Criteo's tables.",
      .limit = "the dense part of the same batch alone",
      .axes = {{"dim", {"64"}, "dim of the tables", WholeFrom(1, 4096)},
               {"codec",
                {"int8"},
                "codec of rows",
                [](const std::string& codec) { ParseRowCodec(codec); }},
               {"batch", {"1"}, "examples of a request", WholeFrom(1)},
               {"rows", {"100k"}, "most rows of a table", WholeFrom(3)}},
      .suites = {{"peers", "the requests of the comparison with TorchRec", PeerPoints()}},
      .make = MakeWork,
      .memory =
          [](const Point& point) {
            double rows = 0;
            for (const int64_t r : CriteoRows(point.Int("rows"))) rows += static_cast<double>(r);
            return rows * static_cast<double>(
                              RowBytes(ParseRowCodec(point.Text("codec")), point.Int("dim")));
          },
      .cold = false};
  return topic;
}

}  // namespace tessera::bench
