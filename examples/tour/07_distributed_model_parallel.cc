// DistributedModelParallel
//
// Tables are large and cost little to compute with; dense layers are the other way round. So tables
// are cut over the ranks (model parallel), and dense layers are copied to all of them (data
// parallel). DistributedModelParallel (DMP) makes the copies start alike, and averages their
// gradients while backward still goes on. A step of all ranks is a step of one process on all their
// batches.
//
// In TorchRec: `DistributedModelParallel(model, device=...)`.
#include <iomanip>
#include <iostream>

#include "tessera/tessera.h"

using namespace tessera;

namespace {

constexpr int64_t kIds = 200, kBatch = 128;

EmbeddingBagConfig Table(const std::string& name, const std::string& feature) {
  EmbeddingBagConfig table;
  table.name = name;
  table.num_embeddings = kIds;
  table.embedding_dim = 8;
  table.feature_names = {feature};
  table.optimizer = RowwiseAdagrad{.lr = 0.1f};
  return table;
}

// An example is clicked if its product and its user are both even.
struct Examples {
  KeyedJaggedTensor features;
  Tensor dense, labels;
};
Examples Draw(Context& ctx, int64_t step, int rank) {
  std::vector<int64_t> ids(2 * kBatch);
  std::vector<float> labels(kBatch);
  for (int64_t b = 0; b < kBatch; ++b) {
    const PhiloxBits bits =
        Philox(/*key=*/1, static_cast<uint64_t>(step), static_cast<uint64_t>(rank * kBatch + b));
    const int64_t product = bits.v[0] % kIds, user = bits.v[1] % kIds;
    ids[static_cast<size_t>(b)] = product;
    ids[static_cast<size_t>(kBatch + b)] = user;
    labels[static_cast<size_t>(b)] = product % 2 == 0 && user % 2 == 0;
  }
  return {KeyedJaggedTensor::FromLengthsSync({"product", "user"}, Tensor::From(ctx, ids),
                                             Tensor::Full(ctx, {2 * kBatch}, 1, DType::kI64)),
          Tensor::Zeros(ctx, {kBatch, 1}), Tensor::From(ctx, labels)};
}

// The mean of one number over all ranks.
float MeanOverRanks(Context& ctx, Communicator& comm, const Tensor& mine) {
  const Tensor sum = comm.AllReduce(ctx, mine, ReduceOp::kSum, "loss").Wait();
  return sum.data<float>()[0] / static_cast<float>(comm.size());
}

void Train(Communicator& comm) {
  Context ctx({.threads = 1, .seed = 1});
  RankingModelConfig config;  // a DLRM, unless it says otherwise
  config.tables = {Table("product_table", "product"), Table("user_table", "user")};
  config.net.dense_in = 1;
  config.net.dense_arch = {8};
  config.net.over_arch = {16, 1};
  // Rank 0 plans for the machine, and every rank makes its parts of the tables, and dense layers.
  TopologyFile machine;
  machine.topology = ShippedTopology("cpu", comm.size());
  RankingModel model = AutoShard(ctx, config, comm, machine, {.batch_size = kBatch});
  DistributedModelParallel dmp(ctx, comm, model.Parameters());
  if (IsLeader(comm)) {
    std::cout << ToString(model.sharded()->tables().plan()) << "\nAlike on all ranks:\n";
    for (const NamedParameter& parameter : model.Parameters())
      std::cout << "  " << parameter.name << " " << ToString(parameter.variable.shape()) << "\n";
  }

  DenseOptimizerConfig adagrad("adagrad");
  adagrad.lr = 0.05;
  DenseOptimizer optimizer(ctx, model.Parameters(), adagrad);
  for (int64_t step = 1; step <= 20; ++step) {
    const Examples examples = Draw(ctx, step, comm.rank());  // every rank has its own
    Tape tape(ctx);
    const Variable logits = model.Forward(ctx, examples.dense, examples.features);
    const Variable loss = BceWithLogits(ctx, logits, examples.labels);
    dmp.Overlap(ctx, tape);
    tape.Backward(loss);        // rows of tables are updated here, wherever they lie
    dmp.AverageGradients(ctx);  // of dense layers
    optimizer.Step(ctx);
    optimizer.ZeroGrad();
    const float mean = MeanOverRanks(ctx, comm, loss.value());
    if (IsLeader(comm) && (step == 1 || step % 10 == 0))
      std::cout << "step " << step << ", log-loss " << std::fixed << std::setprecision(2) << mean
                << std::defaultfloat << "\n";
  }
  // Throws if a rank has other dense parameters than rank 0.
  std::string numbers;
  for (const NamedParameter& parameter : model.Parameters())
    numbers += ToString(parameter.variable.value());
  CheckSameOnAllRanks(comm, "dense parameters", numbers);
}

}  // namespace

int main() { RunLocalRanks(2, Train); }
