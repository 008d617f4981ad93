#include "bench/embedding/growing_calls.h"

#include <algorithm>

#include "bench/harness/cold_rounds.h"
#include "bench/inputs/id_stream.h"
#include "runtime/ops/arithmetic.h"

namespace tessera::bench {
namespace {

int64_t IdOf(int64_t number) {
  return static_cast<int64_t>(static_cast<uint64_t>(number) * 0x9e3779b97f4a7c15ull);
}

// Rows beside the known ones: for all calls of a bench.
constexpr int64_t kRoom = int64_t{1} << 30;

EmbeddingBagConfig TableConfig(const GrowingShape& shape, int64_t rows, bool growing) {
  EmbeddingBagConfig config;
  config.name = std::string("t");
  config.num_embeddings = rows;
  config.embedding_dim = shape.dim;
  config.feature_names = {"f"};
  config.init_range = std::pair(-0.01f, 0.01f);
  config.optimizer = RowwiseAdagrad{0.01f};
  config.growing = growing;
  return config;
}

}  // namespace

GrowingCalls::GrowingCalls(Context& ctx, const GrowingShape& shape)
    : shape_(shape),
      module_(std::make_shared<GrowingManagedCollisionModule>(
          GrowingIndexOptions{.max_rows = shape.rows + (shape.full ? 0 : kRoom)})),
      next_new_(shape.rows) {
  FillIndex(ctx);
  if (shape.tables) MakeTables(ctx);
  IdStream stream(shape.skew, shape.rows, 1, 0);
  for (size_t k = 0; k < kBatches; ++k) {
    std::vector<int64_t> numbers(static_cast<size_t>(num_ids())), ids;
    stream.Draw(numbers);
    for (int64_t& number : numbers) ids.push_back(IdOf(number++));
    ids_.push_back(Tensor::From(ctx, ids));
    rows_.push_back(Tensor::From(ctx, numbers));
    if (!shape.tables) continue;
    id_bags_.push_back(Bags(ctx, ids_.back()));
    row_bags_.push_back(Bags(ctx, rows_.back()));
  }
}

void GrowingCalls::FillIndex(Context& ctx) {
  constexpr int64_t kAtOnce = 1 << 16;
  for (int64_t first = 0; first < shape_.rows; first += kAtOnce) {
    std::vector<int64_t> ids;
    for (int64_t n = first; n < std::min(first + kAtOnce, shape_.rows); ++n) ids.push_back(IdOf(n));
    module_->Forward(ctx, std::vector<Tensor>{Tensor::From(ctx, ids)}, /*training=*/true);
  }
}

void GrowingCalls::MakeTables(Context& ctx) {
  const std::vector<EmbeddingBagConfig> configs = {
      TableConfig(shape_, module_->output_size(), true)};
  growing_ = std::make_unique<ManagedCollisionEmbeddingBagCollection>(
      std::make_unique<EmbeddingBagCollection>(ctx, configs),
      std::make_shared<ManagedCollisionCollection>(
          std::vector<ManagedTable>{{"t", module_}},
          std::vector<BaseEmbeddingConfig>(configs.begin(), configs.end())));
  plain_ = std::make_unique<EmbeddingBagCollection>(
      ctx, std::vector<EmbeddingBagConfig>{TableConfig(shape_, shape_.rows + 1, false)});
  growing_table().rows().SetInUse(ctx, 0, module_->rows_in_use());
  growing_table().weight(0).CopyFrom(ctx, plain_->tables().weight(0));
}

KeyedJaggedTensor GrowingCalls::Bags(Context& ctx, const Tensor& ids) const {
  return KeyedJaggedTensor::FromLengthsSync(
      {"f"}, ids,
      Tensor::Full(ctx, {shape_.batch}, static_cast<double>(shape_.pooling), DType::kI64));
}

void GrowingCalls::Renew(int round) {
  const std::span<int64_t> ids = ids_[At(round)].span<int64_t>();
  const auto count = static_cast<int64_t>(shape_.new_ids * static_cast<double>(num_ids()));
  for (int64_t k = 0; k < count; ++k)
    ids[static_cast<size_t>(k * num_ids() / count)] = IdOf(next_new_++);
}

void GrowingCalls::Find(Context& ctx, int round) { module_->index().Find(ctx, ids_[At(round)]); }

void GrowingCalls::Insert(Context& ctx, int round) {
  const std::vector<Tensor> ids = {ids_[At(round)]};
  const double seconds = SecondsOf([&] { module_->Forward(ctx, ids, /*training=*/true); });
  longest_ms_ = std::max(longest_ms_, 1e3 * seconds);
  module_->Evict(ctx);  // nobody has rows to reset
}

void GrowingCalls::Lookup(Context& ctx, int round) { growing_->Forward(ctx, id_bags_[At(round)]); }
void GrowingCalls::LookupRows(Context& ctx, int round) {
  plain_->Forward(ctx, row_bags_[At(round)]);
}

void GrowingCalls::Step(Context& ctx, int round) {
  const double seconds = SecondsOf([&] {
    Tape tape(ctx);
    tape.Backward(Sum(ctx, growing_->Forward(ctx, id_bags_[At(round)]).embeddings.values()));
  });
  longest_ms_ = std::max(longest_ms_, 1e3 * seconds);
}
void GrowingCalls::StepRows(Context& ctx, int round) {
  Tape tape(ctx);
  tape.Backward(Sum(ctx, plain_->Forward(ctx, row_bags_[At(round)]).values()));
}

void GrowingCalls::Check(Context& ctx) {
  const auto found = module_->index().Find(ctx, ids_[0]).ToVector<int64_t>();
  const auto rows = rows_[0].ToVector<int64_t>();
  for (size_t i = 0; i < rows.size(); ++i)
    TESSERA_CHECK_EQ(found[i], rows[i] - 1, "growing index: row of id number {}", i);
  if (!shape_.tables) return;
  TESSERA_CHECK(SameBits(growing_->Forward(ctx, id_bags_[0]).embeddings.values().value(),
                         plain_->Forward(ctx, row_bags_[0]).values().value()),
                "growing table: pooled rows differ from those of the same rows");
}

double GrowingCalls::MemoryShare() const {
  const int64_t rows =
      module_->index().num_rows() * (shape_.dim + 1) * static_cast<int64_t>(sizeof(float));
  return static_cast<double>(rows + index_bytes()) / static_cast<double>(rows);
}

}  // namespace tessera::bench
