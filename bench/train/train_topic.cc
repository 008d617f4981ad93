#include "bench/train/train_topic.h"

#include <algorithm>
#include <memory>

#include "bench/harness/run_bare.h"
#include "bench/limits/fma_loop.h"
#include "bench/train/criteo_dlrm.h"
#include "bench/train/mlp_products.h"
#include "bench/train/read_work.h"
#include "runtime/base/check.h"
#include "runtime/context.h"
#include "train/data_sets.h"
#include "train/trainer.h"
#include "train/training_memory.h"

namespace tessera::bench {
namespace {

constexpr int64_t kBatches = 8;  // that steps go round

// A model, and the rows it is trained on.
struct Training {
  Training(Context& ctx, const TrainConfig& config, std::shared_ptr<CriteoText> from, int64_t rows)
      : text(std::move(from)),
        data(config, {.files = {text->path()}, .train_rows = RowRange{0, rows}}),
        trainer(ctx, config) {}

  // The mean loss over an epoch of the rows.
  double Epoch() {
    const auto source = data.OpenTrain(0);
    double losses = 0;
    int64_t steps = 0;
    for (; const auto batch = source->Next(); ++steps) losses += trainer.Step(*batch);
    return losses / static_cast<double>(steps);
  }
  // The second epoch's loss is to be lower than the first's.
  void Check() {
    const double first = Epoch(), second = Epoch();
    TESSERA_CHECK(second < first, "an epoch's mean loss was {}, and that of the next {}", first,
                  second);
  }

  std::shared_ptr<CriteoText> text;
  DataSets data;
  Trainer trainer;
};

TrainConfig ConfigOf(const Point& point) {
  TrainConfig config =
      CriteoDlrm(point.Int("dim"), std::vector<int64_t>(ClickRow::kCategories, point.Int("rows")));
  config.batch_size = point.Int("batch");
  return config;
}

std::shared_ptr<CriteoText> TextOf(const Point& point, int64_t examples) {
  return std::make_shared<CriteoText>(point.Text("data"), examples, point.Int("rows"));
}

Work StepWork(Context& ctx, const Point& point) {
  const TrainConfig config = ConfigOf(point);
  const auto text = TextOf(point, kBatches * config.batch_size);
  TESSERA_CHECK_LE(config.batch_size, text->rows(), "--batch, of the rows of the file");
  const int64_t rows = std::min(kBatches, text->rows() / config.batch_size) * config.batch_size;
  const auto training = std::make_shared<Training>(ctx, config, text, rows);
  const auto batches = std::make_shared<std::vector<Batch>>();
  const auto source = training->data.OpenTrain(0);
  while (auto batch = source->Next()) batches->push_back(std::move(*batch));
  const auto products = std::make_shared<MlpProducts>(ctx, config, config.batch_size);
  Work work;
  work.check = [training] { training->Check(); };
  work.contenders = {{"tessera", [training, batches](int round) {
                        training->trainer.Step(
                            (*batches)[static_cast<size_t>(round) % batches->size()]);
                      }}};
  work.limit = {"dense products", [&ctx, products](int) { products->Run(ctx); }};
  work.items = config.batch_size;
  work.item = "examples";
  return work;
}

Work ProductsWork(Context& ctx, const Point& point) {
  const auto products = std::make_shared<MlpProducts>(ctx, ConfigOf(point), point.Int("batch"));
  const auto library = std::make_shared<Context>(ContextOptions{
      .device = ctx.device(), .pool = ctx.pool(), .dense_products = DenseProducts::kLibrary});
  Work work;
  work.check = [&ctx, products, library] { products->Check(ctx, *library); };
  work.contenders = {{"tessera", [&ctx, products](int) { products->Run(ctx); }},
                     {"library", [products, library](int) { products->Run(*library); }}};
  const auto sums =
      std::make_shared<std::vector<float>>(static_cast<size_t>(ctx.threads().threads()));
  work.limit = {"bare fma", [&ctx, products, sums](int) {
                  RunBare(ctx,
                          FmaLoop::Of(products->multiply_adds(), std::ssize(*sums), sums->data()));
                }};
  work.items = products->multiply_adds();
  work.item = "multiply-adds";
  return work;
}

Work EpochWork(Context& ctx, const Point& point) {
  const auto text = TextOf(point, point.Int("examples"));
  const auto training = std::make_shared<Training>(ctx, ConfigOf(point), text, text->rows());
  Work work;
  work.check = [training] { training->Check(); };
  work.contenders = {{"tessera", [training](int) { training->Epoch(); }}};
  work.bytes = static_cast<double>(text->bytes());
  work.items = text->rows();
  work.item = "examples";
  return work;
}

Work MakeWork(Context& ctx, const Point& point) {
  const std::string& part = point.Text("part");
  if (part == "step") return StepWork(ctx, point);
  if (part == "products") return ProductsWork(ctx, point);
  if (part == "epoch") return EpochWork(ctx, point);
  return ReadWork(part, TextOf(point, point.Int("examples")), point.Int("batch"),
                  point.Int("rows"));
}

void CheckPoint(const Point& point) {
  const std::string& part = point.Text("part");
  const bool trains = part == "step" || part == "epoch", products = part == "products";
  if (trains || products) point.Int("dim");
  for (const char* axis : {"batch", "rows"}) point.Int(axis);
  if (!products) point.Text("data");
  if (part != "step" && !products) point.Int("examples");
}

double MemoryOfWork(const Point& point) {
  const std::string& part = point.Text("part");
  if (part != "step" && part != "epoch") return 0;
  return MemoryOfTraining(ConfigOf(point)).total();
}

std::vector<std::string> Parts() {
  std::vector<std::string> parts = {"step", "products", "epoch"};
  for (const std::string& part : ReadParts()) parts.push_back(part);
  return parts;
}

std::vector<Axis> TrainAxes() {
  return {
      {"part",
       {"step"},
       "step, products (its dense products alone, beside Eigen's), epoch (from text, to the "
       "trained model), or reading alone: rows and batches of text; folder, shuffled and npy "
       "batches of mapped files; preprocess",
       OneOf(Parts())},
      {"dim", {"64"}, "dim of the tables", WholeFrom(1, 4096)},
      {"batch", {"2048"}, "examples of a batch", WholeFrom(1)},
      {"rows", {"100k"}, "rows of each of the 26 tables", WholeFrom(2)},
      {"data", {CriteoText::kMade}, "file of Criteo rows, or made: rows of a click model"},
      {"examples", {"64k"}, "rows that are made, but for steps", WholeFrom(1)},
  };
}

std::vector<Point> PeerPoints() {
  std::vector<Point> points;
  for (const std::string dim : {"16", "64", "128"})
    points.emplace_back("step_criteo_D" + dim + "_B2048",
                        PointValues{{"part", "step"}, {"dim", dim}, {"batch", "2048"}});
  return points;
}

std::vector<Point> EpochPoints() {
  std::vector<Point> points;
  for (const std::string dim : {"16", "64"})
    for (const std::string batch : {"256", "2048"})
      points.emplace_back("epoch_D" + dim + "_B" + batch,
                          PointValues{{"part", "epoch"}, {"dim", dim}, {"batch", batch}});
  return points;
}

std::vector<Point> ReaderPoints() {
  std::vector<Point> points;
  for (const std::string& part : ReadParts())
    points.emplace_back(part, PointValues{{"part", part}, {"threads", "1"}});
  return points;
}

}  // namespace

const Topic& TrainTopic() {
  static const Topic topic = {
      .name = "train",
      .help = "A DLRM on Criteo rows: steps, epochs from a file, and reading alone.",
      .limit =
          "the matrix products of the MLPs, for steps; as many fused multiply-adds in "
          "registers, for products",
      .axes = TrainAxes(),
      .suites = {{"peers", "the steps of the comparison with TorchRec", PeerPoints()},
                 {"epochs", "from text to a trained model", EpochPoints()},
                 {"reader", "reading alone, on one thread", ReaderPoints()}},
      .make = MakeWork,
      .check = CheckPoint,
      .memory = MemoryOfWork};
  return topic;
}

}  // namespace tessera::bench
