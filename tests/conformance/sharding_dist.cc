// Kind `sharding`: what ranks hold after the exchange of ids, and sharded training.
#include <algorithm>
#include <mutex>
#include <numeric>

#include "comm/local_communicator.h"
#include "runtime/ops/arithmetic.h"
#include "sharding/sharded_embedding_bag_collection.h"
#include "sharding/sharded_embedding_collection.h"
#include "sparse/ops/segments.h"
#include "tests/conformance/kjt_case.h"
#include "tests/conformance/sharding_case.h"

namespace tessera::conformance {
namespace {

ShardingPlan PlanOf(const Case& c) {
  ShardingPlan plan;
  plan.world_size = c.attrs.at("world_size").get<int>();
  plan.local_size = c.attrs.at("local_size").get<int>();
  for (const auto& [table, given] : c.attrs.at("plan").items()) {
    TableSharding& sharding = plan.tables[table];
    sharding.type = ParseShardingType(given.at("type").get<std::string>());
    for (const Json& s : given.at("shards"))
      sharding.shards.push_back({s.at(0).get<int>(), s.at(1).get<int64_t>(), s.at(2).get<int64_t>(),
                                 s.at(3).get<int64_t>(), s.at(4).get<int64_t>()});
    SortShards(sharding);
  }
  return plan;
}

AnyRule RuleOf(const Json& o) {
  const std::string type = o.at("type").get<std::string>();
  const auto number = [&](const char* key) { return o.at(key).get<float>(); };
  if (type == "sgd") return Sgd{.lr = number("lr")};
  if (type == "adagrad") return Adagrad{.lr = number("lr"), .eps = number("eps")};
  if (type == "rowwise_adagrad") return RowwiseAdagrad{.lr = number("lr"), .eps = number("eps")};
  if (type == "adam")
    return Adam{.lr = number("lr"),
                .eps = number("eps"),
                .beta1 = o.at("beta1").get<double>(),
                .beta2 = o.at("beta2").get<double>()};
  throw Unsupported("optimizer " + type);
}

template <typename Config>
std::vector<Config> TablesOf(const Case& c) {
  std::vector<Config> tables;
  for (const Json& t : c.attrs.at("tables")) {
    Config config;
    config.name = t.at("name").get<std::string>();
    config.num_embeddings = t.at("rows").get<int64_t>();
    config.embedding_dim = t.at("dim").get<int64_t>();
    config.feature_names = t.at("features").get<std::vector<std::string>>();
    if (c.attrs.contains("optimizer")) config.optimizer = RuleOf(c.attrs["optimizer"]);
    if constexpr (std::is_same_v<Config, EmbeddingBagConfig>)
      if (t.at("pooling").get<std::string>() == "mean") config.pooling = PoolingType::kMean;
    tables.push_back(config);
  }
  return tables;
}

bool IsWeighted(const Case& c) { return c.attrs.at("is_weighted").get<bool>(); }
bool IsPooled(const Case& c) { return c.attrs.at("module").get<std::string>() == "ebc"; }

// Runs fn(ctx, comm) on all ranks, each with a context of its own on ctx's device.
template <typename Fn>
void OnRanks(Context& ctx, const Case& c, const Fn& fn) {
  ctx.Sync();  // the case's tensors are there
  RunLocalRanks(c.attrs.at("world_size").get<int>(), [&](Communicator& comm) {
    Context own({.device = ctx.device(), .threads = 1});
    fn(own, comm);
    own.Sync();
  });
}

// ---- input_dist

// Ranks in the order in which the case joins their bags: local rank outer, node inner, where a node
// shares tables.
std::vector<size_t> SourceOrder(const Case& c, const ShardingPlan& plan) {
  const ShardingType type = plan.tables.begin()->second.type;
  const bool by_local_rank =
      type == ShardingType::kTableRowWise || type == ShardingType::kGridShard;
  const size_t ranks = static_cast<size_t>(plan.world_size),
               local = by_local_rank ? c.attrs.at("local_size").get<size_t>() : ranks;
  std::vector<size_t> order;
  for (size_t l = 0; l < local; ++l)
    for (size_t r = l; r < ranks; r += local) order.push_back(r);
  return order;
}

// The blocks that the case lists on a rank: a feature for each of its blocks, with the block's
// stream; −1 for those of a shard without rows, to which nothing is sent here, and empty bags
// there.
std::vector<std::pair<int, int>> ListedBlocks(const DistLayout& layout, const ShardingPlan& plan,
                                              const ShardedTables& tables, size_t rank) {
  std::vector<std::pair<int, int>> listed;
  auto block = layout.ranks[rank].blocks.begin();
  for (size_t t = 0; t < tables.tables().size(); ++t)
    for (const Shard& shard : plan.tables.at(tables.tables()[t].name).shards) {
      if (shard.rank != static_cast<int>(rank)) continue;
      for (size_t f = 0; f < tables.features().size(); ++f)
        if (tables.features()[f].table == static_cast<int>(t))
          listed.emplace_back(static_cast<int>(f), shard.rows > 0 ? (block++)->stream : -1);
    }
  return listed;
}

// The bags that each rank has for a key, by the case.
std::vector<int64_t> BagsOfKey(const Case& c, const std::string& key, size_t ranks) {
  std::vector<int64_t> bags;
  for (size_t q = 0; q < ranks; ++q) {
    const KeyedJaggedTensor kjt = ReadKjt(c, "r" + std::to_string(q));
    const auto at = std::find(kjt.keys().begin(), kjt.keys().end(), key) - kjt.keys().begin();
    bags.push_back(kjt.stride_per_key().at(static_cast<size_t>(at)));
  }
  return bags;
}

// Makes a KJT of what a rank received: a key for each stream and source rank, then one of empty
// bags for each of `bags` and source rank.
KeyedJaggedTensor ByBlockAndRank(Context& ctx, const InputDist& dist,
                                 const std::vector<std::vector<int64_t>>& bags,
                                 const KeyedJaggedTensor& own) {
  const ReceivedIds& away = dist.received();
  const auto streams = static_cast<size_t>(away.kjt.num_keys());
  const KeyedJaggedTensor ids = streams > 0 ? away.kjt : KeyedJaggedTensor::EmptyLike(ctx, own);
  std::vector<int64_t> lengths;
  if (streams > 0) lengths = ToInt64(ids.lengths(ctx));
  KeyedJaggedTensorArgs args{.keys = {}, .values = ids.values()};
  args.weights = ids.weights_or_none();
  const auto add = [&](size_t block, size_t q, int64_t count) {
    args.keys.push_back(std::to_string(block) + "/" + std::to_string(q));
    args.stride_per_key_per_rank.push_back({count});
  };
  for (size_t s = 0; s < streams; ++s)
    for (size_t q = 0; q < away.bags.size(); ++q) add(s, q, away.bags[q][s]);
  for (size_t i = 0; i < bags.size(); ++i)
    for (size_t q = 0; q < bags[i].size(); ++q) {
      add(streams + i, q, bags[i][q]);
      lengths.resize(lengths.size() + static_cast<size_t>(bags[i][q]));
    }
  args.lengths = Tensor::From(ctx, lengths).To(ctx, own.lengths(ctx).dtype());
  return KeyedJaggedTensor(std::move(args));
}

// The KJT of a rank with a key for each of `listed`, in the case's order of ranks. A shard without
// rows has empty bags, as many as the other shards of its feature.
KeyedJaggedTensor Reordered(Context& ctx, const Case& c, const InputDist& dist,
                            const std::vector<std::pair<int, int>>& listed,
                            const std::vector<EmbeddingFeature>& features,
                            const std::vector<size_t>& order, const KeyedJaggedTensor& own) {
  const auto streams = static_cast<size_t>(dist.received().kjt.num_keys());
  KeyedJaggedTensorArgs joined{.keys = {}, .values = {}};
  std::vector<std::vector<int64_t>> bags;
  std::vector<int64_t> picks;
  for (const auto& [feature, stream] : listed) {
    const size_t block = stream < 0 ? streams + bags.size() : static_cast<size_t>(stream);
    joined.keys.push_back(features[static_cast<size_t>(feature)].key);
    bags.push_back(BagsOfKey(c, joined.keys.back(), order.size()));
    joined.stride_per_key_per_rank.emplace_back();
    for (const size_t q : order) {
      picks.push_back(static_cast<int64_t>(block * order.size() + q));
      joined.stride_per_key_per_rank.back().push_back(bags.back()[q]);
    }
  }
  const KeyedJaggedTensor picked = ByBlockAndRank(ctx, dist, bags, own).Permute(ctx, picks);
  joined.values = picked.values();
  joined.weights = picked.weights_or_none();
  joined.lengths = picked.lengths(ctx);
  joined.unique_keys = false;
  if (!own.variable_stride_per_key()) {
    const auto& counts = joined.stride_per_key_per_rank.at(0);
    joined.stride = std::accumulate(counts.begin(), counts.end(), int64_t{0});
    joined.stride_per_key_per_rank.clear();
  }
  return KeyedJaggedTensor(std::move(joined));
}

// The place to which each id went, in the order of buckets, then features, then bags.
Tensor UnbucketizePermute(Context& ctx, const SentIds& home, const DistLayout& layout) {
  std::vector<int64_t> first = {0};
  for (const DistFeature& f : home.features) first.push_back(first.back() + f.end - f.begin);
  std::vector<int64_t> permute(static_cast<size_t>(first.back()));
  int64_t next = 0;
  for (size_t r = 0; r < layout.ranks.size(); ++r)
    for (size_t s = 0; s < layout.ranks[r].streams.size(); ++s) {
      std::vector<int32_t> places(static_cast<size_t>(home.ids[r][s]));
      std::iota(places.begin(), places.end(), 0);  // where all rows lie on one shard
      if (home.positions[r][s]) places = home.positions[r][s].ToVector<int32_t>();
      const auto begin = first[static_cast<size_t>(layout.ranks[r].streams[s].feature)];
      for (const int32_t place : places) permute[static_cast<size_t>(begin + place)] = next++;
    }
  return Tensor::From(ctx, permute);
}

// ---- train_sharded

// Whole tables and states, put together from the ranks' shards on the host.
class WholeTables {
 public:
  explicit WholeTables(const Case& c) : case_(c) {}

  void Add(const ShardedTables& tables) {
    const std::lock_guard lock(mutex_);
    for (const HeldShard& held : tables.shards()) {
      const std::vector<Shard>& all = tables.plan().tables.at(held.table).shards;
      std::vector<int64_t> columns;  // where blocks of columns begin
      for (const Shard& s : all)
        if (columns.empty() || columns.back() != s.column_offset)
          columns.push_back(s.column_offset);
      const auto block = std::find(columns.begin(), columns.end(), held.shard.column_offset);
      AddShard(held, block - columns.begin(), static_cast<int64_t>(columns.size()));
    }
  }
  void Store(Tensors& answer) const {
    for (const auto& [name, whole] : tensors_) answer[name] = whole;
  }

 private:
  void AddShard(const HeldShard& held, int64_t block, int64_t blocks) {
    const Json* table = nullptr;
    for (const Json& t : case_.attrs.at("tables"))
      if (t.at("name") == held.table) table = &t;
    const int64_t rows = table->at("rows").get<int64_t>(), dim = table->at("dim").get<int64_t>();
    Put("table." + held.table, {rows, dim}, held.tables->weight(held.index), held.shard.row_offset,
        held.shard.column_offset);
    for (const OptimizerState& state : held.tables->optimizer_states(held.index)) {
      const std::string name = "state." + held.table + "." + NameOf(state.name);
      if (state.tensor.rank() == 2)
        Put(name, {rows, dim}, state.tensor, held.shard.row_offset, held.shard.column_offset);
      else
        Put(name, {blocks, rows}, state.tensor.Reshape({1, state.tensor.dim(0)}), block,
            held.shard.row_offset);
    }
  }
  // The case's name of a state.
  std::string NameOf(const std::string& state) const {
    if (case_.attrs.at("optimizer").at("type") != "adam") return "sum";
    return state == "momentum1" ? "m" : "v";
  }
  void Put(const std::string& name, const Shape& shape, const Tensor& part, int64_t row,
           int64_t column) {
    Tensor& whole = tensors_[name];
    if (!whole) whole = Tensor::EmptyHost(shape);
    const Tensor host = part.ToHost();
    for (int64_t r = 0; r < host.dim(0); ++r)
      for (int64_t d = 0; d < host.dim(1); ++d)
        whole.data<float>()[(row + r) * shape[1] + column + d] =
            host.data<float>()[r * host.dim(1) + d];
  }

  const Case& case_;
  std::mutex mutex_;
  Tensors tensors_;
};

void FillFromCase(Context& ctx, const Case& c, const ShardedTables& tables) {
  for (const HeldShard& held : tables.shards()) {
    const Shard& s = held.shard;
    held.tables->weight(held.index)
        .CopyFrom(ctx, c.input("table." + held.table)
                           .Rows(s.row_offset, s.row_offset + s.rows)
                           .Narrow(1, s.column_offset, s.columns));
  }
}

std::string StepName(const Communicator& comm, int step) {
  return "r" + std::to_string(comm.rank()) + ".s" + std::to_string(step);
}

class Answers {
 public:
  void Put(const std::string& name, const Tensor& tensor) {
    const Tensor host = tensor.ToHost();
    const std::lock_guard lock(mutex_);
    answer.tensors[name] = host;
  }
  Answer answer;

 private:
  std::mutex mutex_;
};

void StepPooled(Context& ctx, const Case& c, ShardedEmbeddingBagCollection& ebc,
                const std::string& step, Answers& answers) {
  Tape tape(ctx);
  const KeyedTensor out = ebc.Forward(ctx, ReadKjt(c, step));
  answers.Put(step + ".pooled", out.values());
  tape.Backward(out.values(), c.input(step + ".grad"));
}

void StepSequence(Context& ctx, const Case& c, ShardedEmbeddingCollection& ec,
                  const std::string& step, Answers& answers) {
  Tape tape(ctx);
  Variable loss;  // whose gradient with respect to each sequence is what the case gives
  const NamedSequences out = ec.Forward(ctx, ReadKjt(c, step));
  for (size_t i = 0; i < out.size(); ++i) {
    answers.Put(step + ".emb." + std::to_string(i), out[i].second.values());
    const Variable part =
        Sum(ctx, Mul(ctx, out[i].second.values(), c.input(step + ".grad." + std::to_string(i))));
    loss = loss ? Add(ctx, loss, part) : part;
  }
  tape.Backward(loss);
}

}  // namespace

Answer InputDistOf(Context& ctx, const Case& c) {
  const ShardingPlan plan = PlanOf(c);
  Answers answers;
  std::mutex mutex;
  OnRanks(ctx, c, [&](Context& own, Communicator& comm) {
    const std::string name = "r" + std::to_string(comm.rank());
    const auto rank = static_cast<size_t>(comm.rank());
    const KeyedJaggedTensor kjt = ReadKjt(c, name);
    const auto run = [&](ShardedTables& tables) {
      const DistLayout layout(tables.tables(), tables.features(), plan);
      const InputDist dist = tables.StartInputDist(own, kjt).Wait();
      const auto listed = ListedBlocks(layout, plan, tables, rank);
      Answer mine;
      if (listed.empty())
        mine.expect[name] = {{"keys", Json::array()}};
      else
        WriteKjt(own, Reordered(own, c, dist, listed, tables.features(), SourceOrder(c, plan), kjt),
                 name, &mine);
      if (const std::string permute = name + ".unbucketize_permute"; c.out.count(permute) > 0)
        mine.tensors[permute] = UnbucketizePermute(own, dist.sent(), layout);
      for (auto& [key, tensor] : mine.tensors)
        if (c.out.count(key) > 0) answers.Put(key, tensor);
      const std::lock_guard lock(mutex);
      for (const char* field : {"keys", "stride", "stride_per_key_per_rank"})
        if (mine.expect[name].contains(field))
          answers.answer.expect[name][field] = mine.expect[name][field];
    };
    if (IsPooled(c))
      run(ShardedEmbeddingBagCollection(own, comm, TablesOf<EmbeddingBagConfig>(c), plan,
                                        {.is_weighted = IsWeighted(c)})
              .tables());
    else
      run(ShardedEmbeddingCollection(own, comm, TablesOf<EmbeddingConfig>(c), plan).tables());
  });
  return std::move(answers.answer);
}

Answer TrainShardedOf(Context& ctx, const Case& c) {
  const ShardingPlan plan = PlanOf(c);
  const bool division = c.attrs.at("gradient_division").get<bool>();
  const int steps = c.attrs.at("steps").get<int>();
  Answers answers;
  WholeTables whole(c);
  OnRanks(ctx, c, [&](Context& own, Communicator& comm) {
    const auto run = [&](auto&& collection, const auto& step) {
      FillFromCase(own, c, collection.tables());
      for (int s = 0; s < steps; ++s) step(own, c, collection, StepName(comm, s), answers);
      whole.Add(collection.tables());
    };
    if (IsPooled(c))
      run(ShardedEmbeddingBagCollection(own, comm, TablesOf<EmbeddingBagConfig>(c), plan,
                                        {.is_weighted = IsWeighted(c)},
                                        {.gradient_division = division}),
          StepPooled);
    else
      run(ShardedEmbeddingCollection(own, comm, TablesOf<EmbeddingConfig>(c), plan, {},
                                     {.gradient_division = division}),
          StepSequence);
  });
  Tensors all;
  whole.Store(all);
  for (const auto& [name, tensor] : all)
    if (c.out.count(name) > 0) answers.answer.tensors[name] = tensor;
  return std::move(answers.answer);
}

}  // namespace tessera::conformance
