#include "sharding/managed_collision/partitioned_managed_collision_module.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "sharding/exchange/row_split.h"
#include "sharding/managed_collision/place_rows.h"

namespace tessera {
namespace {

// Ids that one thread looks at.
constexpr int64_t kBag = 256;
constexpr char kRandomName[] = "_part_random";

// Replaces ctx.random() by another one for a scope.
class WithRandom {
 public:
  WithRandom(Context& ctx, Random& random) : ctx_(ctx), random_(random) {
    std::swap(ctx_.random(), random_);
  }
  ~WithRandom() { std::swap(ctx_.random(), random_); }
  WithRandom(const WithRandom&) = delete;
  WithRandom& operator=(const WithRandom&) = delete;

 private:
  Context& ctx_;
  Random& random_;
};

uint64_t SeedOf(uint64_t seed, uint64_t sequence, int64_t part) {
  const PhiloxBits bits = Philox(seed, sequence, static_cast<uint64_t>(part));
  return uint64_t{bits.v[1]} << 32 | bits.v[0];
}

// The ids of each feature that each part gets, and their positions: [part][feature].
struct PartIds {
  std::vector<std::vector<Tensor>> ids, positions;
};

// Each feature's ids as bags, whose offsets begin at 0 for each.
std::vector<SplitBags> BagsOf(std::span<const Tensor> features, std::vector<int64_t>& offsets) {
  std::vector<SplitBags> bags;
  for (const Tensor& ids : features) {
    const int64_t n = ids.numel();
    TESSERA_CHECK_LE(n, std::numeric_limits<int32_t>::max(), "ids of a feature");
    bags.push_back({.ids = ids,
                    .first_bag = static_cast<int64_t>(offsets.size()),
                    .num_bags = (n + kBag - 1) / kBag,
                    .rows = {}});
    for (int64_t begin = 0; begin < n; begin += kBag) offsets.push_back(begin);
    offsets.push_back(n);
  }
  return bags;
}

PartIds SplitByPart(Context& ctx, std::span<const Tensor> features, const HashParts& parts,
                    int64_t begin, size_t count) {
  std::vector<int64_t> offsets;
  std::vector<SplitBags> bags = BagsOf(features, offsets);
  for (SplitBags& b : bags) {
    for (size_t p = 0; p < count; ++p)
      b.rows.push_back((begin + static_cast<int64_t>(p)) * parts.rows_a_part);
    b.end = b.rows.back() + parts.rows_a_part;
    b.parts = parts;
  }
  RowSplit split(ctx, Tensor::From(ctx, offsets), bags);
  PartIds result = {std::vector<std::vector<Tensor>>(count),
                    std::vector<std::vector<Tensor>>(count)};
  std::vector<SplitPlace> places;
  for (size_t f = 0; f < features.size(); ++f) {
    int64_t placed = 0;
    for (size_t p = 0; p < count; ++p) {
      const int64_t n = split.count(f, p);
      result.ids[p].push_back(Tensor::Empty(ctx, {n}, features[f].dtype()));
      result.positions[p].push_back(Tensor::Empty(ctx, {n}, DType::kI32));
      places.push_back(
          {result.ids[p][f].raw_data(), result.positions[p][f].data<int32_t>(), nullptr});
      placed += n;
    }
    TESSERA_CHECK_EQ(placed, features[f].numel(), "ids of parts {} to {}, of all that came", begin,
                     begin + static_cast<int64_t>(count) - 1);
  }
  split.Place(ctx, nullptr, places);
  return result;
}

}  // namespace

uint64_t TakeSeed(Context& ctx) {
  return SeedOf(ctx.random().seed(), ctx.random().TakeSequence(), 0);
}

PartitionedManagedCollisionModule::PartitionedManagedCollisionModule(Context& ctx,
                                                                     const HashParts& parts,
                                                                     int64_t begin, int64_t end,
                                                                     const MakePartModule& make,
                                                                     uint64_t seed)
    : parts_(parts), begin_(begin) {
  TESSERA_CHECK(0 <= begin && begin < end && end <= parts.num_parts,
                "managed collision: parts {} to {} of {}", begin, end, parts.num_parts);
  for (int64_t part = begin; part < end; ++part) {
    random_.push_back(Random(SeedOf(seed, 0, part)));
    const WithRandom own(ctx, random_.back());
    modules_.push_back(make(ctx, part, parts.rows_a_part));
    TESSERA_CHECK(modules_.back() != nullptr, "managed collision: no module for part {}", part);
    TESSERA_CHECK_EQ(modules_.back()->output_size(), parts.rows_a_part,
                     "managed collision: rows that the module of part {} may name", part);
  }
}

int64_t PartitionedManagedCollisionModule::NumIdsSync(Context& ctx) const {
  int64_t sum = 0;
  for (const auto& module : modules_) sum += module->NumIdsSync(ctx);
  return sum;
}

std::vector<Tensor> PartitionedManagedCollisionModule::MapPart(Context& ctx, size_t p,
                                                               std::span<const Tensor> ids,
                                                               bool training) {
  const WithRandom own(ctx, random_[p]);
  return modules_[p]->Forward(ctx, ids, training);
}

std::vector<Tensor> PartitionedManagedCollisionModule::Map(Context& ctx,
                                                           std::span<const Tensor> ids,
                                                           bool training) {
  if (modules_.size() == 1) return MapPart(ctx, 0, ids, training);
  const PartIds split = SplitByPart(ctx, ids, parts_, begin_, modules_.size());
  std::vector<Tensor> rows, of_parts;
  for (const Tensor& feature : ids)
    rows.push_back(Tensor::Empty(ctx, {feature.numel()}, DType::kI64));
  std::vector<PlacedRows> placed;
  for (size_t p = 0; p < modules_.size(); ++p) {
    const std::vector<Tensor> own = MapPart(ctx, p, split.ids[p], training);
    for (size_t f = 0; f < own.size(); ++f) {
      of_parts.push_back(own[f].Contiguous(ctx));
      placed.push_back({own[f].numel(), of_parts.back().data<int64_t>(),
                        split.positions[p][f].data<int32_t>(),
                        static_cast<int64_t>(p) * parts_.rows_a_part, rows[f].data<int64_t>()});
    }
  }
  PlaceRows(ctx, placed);
  return rows;
}

Tensor PartitionedManagedCollisionModule::TakeEvicted(Context& ctx) {
  std::vector<int64_t> rows;
  for (size_t p = 0; p < modules_.size(); ++p)
    for (const int64_t row : modules_[p]->Evict(ctx).ToVector<int64_t>())
      rows.push_back(row + static_cast<int64_t>(p) * parts_.rows_a_part);
  return Tensor::From(ctx, rows);
}

void PartitionedManagedCollisionModule::EvictTo(Context& ctx,
                                                const std::function<void(const Tensor& rows)>& fn) {
  const std::vector<int64_t> rows = Evict(ctx).ToVector<int64_t>();
  for (auto begin = rows.begin(); begin != rows.end();) {
    const int64_t p = *begin / parts_.rows_a_part;
    const auto end = std::lower_bound(begin, rows.end(), (p + 1) * parts_.rows_a_part);
    const WithRandom own(ctx, random_[static_cast<size_t>(p)]);
    fn(Tensor::From(ctx, std::vector<int64_t>(begin, end)));
    begin = end;
  }
}

std::vector<NamedTensor> PartitionedManagedCollisionModule::PartState(Context& ctx,
                                                                      int64_t part) const {
  std::vector<NamedTensor> state = modules_[At(part)]->StateDict(ctx);
  const Random& random = random_[At(part)];
  state.push_back(
      {kRandomName, Tensor::From<int64_t>(ctx, {static_cast<int64_t>(random.seed()),
                                                static_cast<int64_t>(random.next_sequence())})});
  return state;
}

void PartitionedManagedCollisionModule::LoadPartState(Context& ctx, int64_t part,
                                                      const std::vector<NamedTensor>& tensors) {
  std::vector<NamedTensor> of_module;
  std::vector<int64_t> random;
  for (const NamedTensor& t : tensors)
    if (t.name == kRandomName)
      random = t.tensor.ToVector<int64_t>();
    else
      of_module.push_back(t);
  TESSERA_CHECK_EQ(random.size(), 2u, "state of part {}: numbers in {}", part, kRandomName);
  modules_[At(part)]->LoadStateDict(ctx, of_module);
  random_[At(part)] = Random(static_cast<uint64_t>(random[0]), static_cast<uint64_t>(random[1]));
}

std::vector<NamedTensor> PartitionedManagedCollisionModule::StateDict(Context& ctx) const {
  std::vector<NamedTensor> all;
  for (int64_t part = begin_; part < begin_ + num_parts(); ++part)
    for (NamedTensor& t : PartState(ctx, part))
      all.push_back({PartPrefix(part) + t.name, std::move(t.tensor)});
  return all;
}

void PartitionedManagedCollisionModule::LoadStateDict(Context& ctx,
                                                      const std::vector<NamedTensor>& tensors) {
  size_t taken = 0;
  std::vector<std::vector<NamedTensor>> of_part(modules_.size());
  for (int64_t part = begin_; part < begin_ + num_parts(); ++part) {
    const std::string prefix = PartPrefix(part);
    for (const NamedTensor& t : tensors) {
      if (!t.name.starts_with(prefix)) continue;
      of_part[At(part)].push_back({t.name.substr(prefix.size()), t.tensor});
      ++taken;
    }
  }
  TESSERA_CHECK_EQ(taken, tensors.size(),
                   "state of a table in parts by hash: tensors of parts {} to {}, of all", begin_,
                   begin_ + num_parts() - 1);
  for (int64_t part = begin_; part < begin_ + num_parts(); ++part)
    LoadPartState(ctx, part, of_part[At(part)]);
}

}  // namespace tessera
