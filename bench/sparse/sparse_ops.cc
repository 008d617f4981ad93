#include "bench/sparse/sparse_ops.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <vector>

#include "bench/sparse/jagged_batch.h"
#include "runtime/base/check.h"
#include "runtime/tensor.h"
#include "sparse/ids/bucketize.h"
#include "sparse/ids/unique.h"
#include "sparse/keyed_tensor.h"
#include "sparse/ops/cumsum.h"

namespace tessera::bench {
namespace {

using Batch = std::shared_ptr<const JaggedBatch>;

// call() is timed; verify(its result) throws if the result is wrong.
template <typename Call, typename Verify>
OpCall Checked(Call call, Verify verify) {
  return {[call] { call(); }, [call, verify] { verify(call()); }, 0, 0};
}

// A KJT that has not been looked at, as a reader makes it.
KeyedJaggedTensor Fresh(const JaggedBatch& b) {
  return KeyedJaggedTensor({.keys = b.keys, .values = b.values, .lengths = b.lengths});
}

std::vector<int64_t> Numbers(int64_t begin, int64_t end) {
  std::vector<int64_t> numbers(static_cast<size_t>(end - begin));
  std::iota(numbers.begin(), numbers.end(), begin);
  return numbers;
}

OpCall Sync(Context& ctx, const Batch& b) {
  return Checked(
      [b] {
        KeyedJaggedTensor kjt = Fresh(*b);
        kjt.length_per_key();
        return kjt;
      },
      [&ctx, b](const KeyedJaggedTensor& got) {
        CheckKeys(ctx, b->kjt, Numbers(0, b->num_keys()), got);
      });
}

OpCall Offsets(Context& ctx, const Batch& b) {
  return Checked([&ctx, b] { return CompleteCumsum(ctx, b->lengths); },
                 [b](const Tensor& got) {
                   int64_t sum = 0;
                   for (int64_t i = 0; i < b->lengths.dim(0); ++i) {
                     TESSERA_CHECK_EQ(got.data<int64_t>()[i], sum, "offset {}", i);
                     sum += b->lengths.data<int64_t>()[i];
                   }
                 });
}

OpCall Permute(Context& ctx, const Batch& b, bool weighted) {
  const auto source = [b, weighted]() -> const KeyedJaggedTensor& {
    return weighted ? b->weighted : b->kjt;
  };
  return Checked(
      [&ctx, b, source] { return source().Permute(ctx, b->order); },
      [&ctx, b, source](const KeyedJaggedTensor& got) { CheckKeys(ctx, source(), b->order, got); });
}

void CheckParts(Context& ctx, const JaggedBatch& b, const std::vector<KeyedJaggedTensor>& parts) {
  int64_t first = 0;
  for (const KeyedJaggedTensor& part : parts) {
    CheckKeys(ctx, b.kjt, Numbers(first, first + part.num_keys()), part);
    first += part.num_keys();
  }
  TESSERA_CHECK_EQ(first, b.num_keys(), "keys of all parts");
}

OpCall Split(Context& ctx, const Batch& b, std::vector<int64_t> segments, bool read) {
  return Checked(
      [&ctx, b, segments, read] {
        std::vector<KeyedJaggedTensor> parts = b->kjt.Split(ctx, segments);
        std::vector<Tensor> values;
        if (read)
          for (const KeyedJaggedTensor& part : parts) values.push_back(part.values());
        return parts;
      },
      [&ctx, b](const std::vector<KeyedJaggedTensor>& got) { CheckParts(ctx, *b, got); });
}

OpCall SplitHalves(Context& ctx, const Batch& b, bool read) {
  const int64_t half = b->num_keys() / 2;
  return Split(ctx, b, {half, b->num_keys() - half}, read);
}

OpCall Concat(Context& ctx, const Batch& b) {
  return Checked([&ctx, b] { return KeyedJaggedTensor::Concat(ctx, b->halves); },
                 [&ctx, b](const KeyedJaggedTensor& got) { CheckParts(ctx, *b, {got}); });
}

OpCall ToDict(Context& ctx, const Batch& b) {
  return Checked([&ctx, b] { return b->kjt.ToDict(ctx); },
                 [&ctx, b](const auto& got) {
                   for (size_t f = 0; f < b->keys.size(); ++f) {
                     TESSERA_CHECK_EQ(got[f].first, b->keys[f], "key {}", f);
                     CheckKey(ctx, b->kjt, static_cast<int64_t>(f), got[f].second);
                   }
                 });
}

OpCall FromJtDict(Context& ctx, const Batch& b) {
  return Checked([&ctx, b] { return KeyedJaggedTensor::FromJtDict(ctx, b->parts); },
                 [&ctx, b](const KeyedJaggedTensor& got) { CheckParts(ctx, *b, {got}); });
}

// Each id is where the slots say, less the first id of its block; bags of a bucket keep its order.
void CheckBucketized(const JaggedBatch& b, const Bucketized& got, bool sequence) {
  const int64_t bags = b.lengths.dim(0), block = b.block_sizes.data<int64_t>()[0];
  const int64_t* ids = b.values.data<int64_t>();
  std::vector<int64_t> next(static_cast<size_t>(4 * bags));
  const auto lengths = got.lengths.span<int64_t>();
  std::exclusive_scan(lengths.begin(), lengths.end(), next.begin(), int64_t{0});
  for (int64_t bag = 0, i = 0; bag < bags; ++bag)
    for (const int64_t end = i + b.lengths.data<int64_t>()[bag]; i < end; ++i) {
      const int64_t slot = next[static_cast<size_t>(ids[i] / block * bags + bag)]++;
      TESSERA_CHECK_EQ(got.indices.data<int64_t>()[slot], ids[i] % block, "bucketized id {}", slot);
      if (sequence)
        TESSERA_CHECK_EQ(got.unbucketize_permute.data<int64_t>()[i], slot, "slot of id {}", i);
    }
}

OpCall Bucketize(Context& ctx, const Batch& b, bool sequence) {
  return Checked(
      [&ctx, b, sequence] {
        return BlockBucketizeSparseFeatures(ctx, {.lengths = b->lengths,
                                                  .indices = b->values,
                                                  .block_sizes = b->block_sizes,
                                                  .my_size = 4,
                                                  .sequence = sequence});
      },
      [b, sequence](const Bucketized& got) { CheckBucketized(*b, got, sequence); });
}

void CheckUnique(const JaggedBatch& b, const UniqueIds& got) {
  const auto ids = b.values.span<int64_t>(), values = got.values.span<int64_t>(),
             inverse = got.inverse.span<int64_t>(), at = got.group_offsets.span<int64_t>();
  for (size_t i = 0; i < ids.size(); ++i)
    TESSERA_CHECK_EQ(values[static_cast<size_t>(inverse[i])], ids[i], "id {} by its inverse", i);
  for (size_t g = 0; g + 1 < at.size(); ++g)
    TESSERA_CHECK(std::is_sorted(values.begin() + at[g], values.begin() + at[g + 1],
                                 [](int64_t x, int64_t y) { return x <= y; }),
                  "distinct ids of key {} do not rise", g);
}

OpCall UniquePerKey(Context& ctx, const Batch& b) {
  return Checked(
      [&ctx, b] {
        return UniquePerGroup(ctx, b->values, b->kjt.offset_per_key(), /*counts=*/false);
      },
      [b](const UniqueIds& got) { CheckUnique(*b, got); });
}

struct RegroupInput {
  std::vector<KeyedTensor> parts;
  std::vector<std::vector<std::string>> groups;
};

// Two KeyedTensors of half the keys; four groups, each of every fourth key of both in turn.
std::shared_ptr<const RegroupInput> MakeRegroupInput(Context& ctx, const OpShape& shape) {
  const auto name = [](int64_t part, int64_t k) {
    return "p" + std::to_string(part) + "_" + std::to_string(k);
  };
  auto input = std::make_shared<RegroupInput>();
  const int64_t half = shape.keys / 2;
  for (int64_t part = 0; part < 2; ++part) {
    std::vector<std::string> keys;
    for (int64_t k = 0; k < half; ++k) keys.push_back(name(part, k));
    const Tensor values = Tensor::Empty(ctx, {shape.batch, half * shape.dim});
    FillUniform(ctx, values, 0, 1);
    input->parts.emplace_back(keys, std::vector<int64_t>(static_cast<size_t>(half), shape.dim),
                              values);
  }
  input->groups.resize(4);
  for (int64_t k = 0; k < 2 * half; ++k)
    input->groups[static_cast<size_t>(k % 4)].push_back(name(k % 2, k / 2));
  return input;
}

void CheckRegrouped(Context& ctx, const RegroupInput& input, const std::vector<Variable>& got) {
  for (size_t g = 0; g < input.groups.size(); ++g) {
    int64_t column = 0;
    for (const std::string& key : input.groups[g]) {
      const Tensor from = input.parts[key[1] == '0' ? 0 : 1].At(ctx, key).value();
      CheckSame(ctx, from, got[g].value().Narrow(1, column, from.dim(1)), key.c_str());
      column += from.dim(1);
    }
  }
}

OpCall Regroup(Context& ctx, const OpShape& shape) {
  const auto input = MakeRegroupInput(ctx, shape);
  OpCall op = Checked(
      [&ctx, input] { return KeyedTensor::Regroup(ctx, input->parts, input->groups); },
      [&ctx, input](const std::vector<Variable>& got) { CheckRegrouped(ctx, *input, got); });
  op.bytes = 8.0 * static_cast<double>(shape.batch * (shape.keys / 2 * 2) * shape.dim);
  return op;
}

struct JaggedOp {
  const char* name;
  double bytes_per_id, bytes_per_bag;
  OpCall (*make)(Context& ctx, const Batch& batch);
};

constexpr JaggedOp kJaggedOps[] = {
    {"sync", 0, 0, Sync},
    {"offsets", 0, 16, Offsets},
    {"permute", 16, 0, [](Context& ctx, const Batch& b) { return Permute(ctx, b, false); }},
    {"permute_weighted", 24, 0, [](Context& ctx, const Batch& b) { return Permute(ctx, b, true); }},
    {"split", 0, 0, [](Context& ctx, const Batch& b) { return SplitHalves(ctx, b, false); }},
    {"split_all", 0, 0,
     [](Context& ctx, const Batch& b) {
       return Split(ctx, b, std::vector<int64_t>(b->keys.size(), 1), false);
     }},
    {"split_and_read", 0, 0,
     [](Context& ctx, const Batch& b) { return SplitHalves(ctx, b, true); }},
    {"concat", 16, 0, Concat},
    {"to_dict", 0, 0, ToDict},
    {"from_jt_dict", 16, 0, FromJtDict},
    {"block_bucketize_4", 16, 0,
     [](Context& ctx, const Batch& b) { return Bucketize(ctx, b, false); }},
    {"block_bucketize_4_sequence", 24, 0,
     [](Context& ctx, const Batch& b) { return Bucketize(ctx, b, true); }},
    {"unique_per_key", 8, 0, UniquePerKey}};

}  // namespace

std::span<const char* const> SparseOps() {
  static const std::vector<const char*> names = [] {
    std::vector<const char*> all;
    for (const JaggedOp& op : kJaggedOps) all.push_back(op.name);
    all.push_back("regroup");
    return all;
  }();
  return names;
}

OpCall MakeSparseOp(Context& ctx, const std::string& op, const OpShape& shape) {
  if (op == "regroup") return Regroup(ctx, shape);
  const auto* found = std::find_if(std::begin(kJaggedOps), std::end(kJaggedOps),
                                   [&](const JaggedOp& o) { return op == o.name; });
  const auto batch = std::make_shared<const JaggedBatch>(ctx, shape.keys, shape.batch, shape.lmax);
  OpCall made = found->make(ctx, batch);
  made.ids = batch->num_ids();
  made.bytes = found->bytes_per_id * static_cast<double>(made.ids) +
               found->bytes_per_bag * static_cast<double>(batch->lengths.dim(0));
  return made;
}

}  // namespace tessera::bench
