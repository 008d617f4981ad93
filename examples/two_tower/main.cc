// Two towers on MovieLens: users and movies become vectors, and whoever is near to a movie will
// like it. The model is trained on who liked what. Then the movies are ranked for every user, and
// we count how many of the likes that were held out are among the first ten, beside a list of what
// is popular.
//
//   bazel run -c opt //examples/two_tower -- --data ratings.dat
//
// Any file of MovieLens ratings will do (https://grouplens.org/datasets/movielens).
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "examples/two_tower/recall.h"
#include "examples/two_tower/split.h"
#include "tessera/models/two_tower.h"
#include "tessera/runtime/ops/linear.h"
#include "tessera/runtime/ops/matmul.h"
#include "tessera/tessera.h"

using namespace tessera;
using namespace tessera::two_tower;

namespace {

constexpr size_t kTop = 10;
constexpr int64_t kBatch = 1024, kDim = 64;

struct Flags {
  std::string data;
  int64_t epochs = 12;
  float like_from = 4;
};

Flags ParseFlags(int argc, char** argv) {
  Flags flags;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string name = argv[i], value = argv[i + 1];
    if (name == "--data") flags.data = value;
    if (name == "--epochs") flags.epochs = std::atoll(value.c_str());
    if (name == "--like-from") flags.like_from = std::strtof(value.c_str(), nullptr);
  }
  if (flags.data.empty())
    throw Error("usage: two_tower --data RATINGS [--epochs N] [--like-from STARS]");
  return flags;
}

EmbeddingBagConfig Table(const std::string& name, const std::string& feature, int64_t rows) {
  EmbeddingBagConfig config;
  config.name = name;
  config.num_embeddings = rows;
  config.embedding_dim = kDim;
  config.feature_names = {feature};
  config.optimizer = Adam{.lr = 0.003f};
  return config;
}

// Pairs of users and items that like each other; an item's share of all pairs is how often it comes
// as a wrong answer for somebody else.
struct Pairs {
  KeyedJaggedTensor features;
  Variable minus_log_share;  // [B]
  Tensor right;              // [B]: answer b is right for user b
};

Pairs Draw(Context& ctx, const Likes& likes, std::span<const int64_t> rows) {
  const auto count = static_cast<int64_t>(rows.size());
  std::vector<int64_t> values, right;
  std::vector<float> minus_log_share;
  for (const int64_t row : rows) values.push_back(likes.users[static_cast<size_t>(row)]);
  for (const int64_t row : rows) {
    const int64_t item = likes.items[static_cast<size_t>(row)];
    values.push_back(item);
    right.push_back(static_cast<int64_t>(right.size()));
    minus_log_share.push_back(
        -std::log(static_cast<float>(likes.popularity[static_cast<size_t>(item)])));
  }
  return {KeyedJaggedTensor::FromLengthsSync({"userId", "movieId"}, Tensor::From(ctx, values),
                                             Tensor::Full(ctx, {2 * count}, 1, DType::kI64)),
          Variable(Tensor::From(ctx, minus_log_share)), Tensor::From(ctx, right)};
}

// Each user's own item among the items of all users of the batch. Popular items come more often as
// wrong answers; the loss corrects for that, or they would be pushed away.
double Step(Context& ctx, TwoTower& model, DenseOptimizer& dense, const Pairs& pairs) {
  Tape tape(ctx);
  const TowerOutputs towers = model.Forward(ctx, pairs.features);
  const Variable scores = MatMul(ctx, towers.query, towers.candidate, /*transpose_b=*/true);
  const Variable loss =
      SoftmaxCrossEntropy(ctx, AddBias(ctx, scores, pairs.minus_log_share), pairs.right);
  tape.Backward(loss);  // updates the rows of these users and items
  dense.Step(ctx);
  dense.ZeroGrad();
  return static_cast<double>(loss.value().data<float>()[0]);
}

void Train(Context& ctx, TwoTower& model, const Likes& likes, int64_t epochs) {
  DenseOptimizerConfig adam;
  adam.name = "adam";
  adam.lr = 0.001;
  DenseOptimizer dense(ctx, model.Parameters(), adam);
  const auto pairs = static_cast<int64_t>(likes.users.size());
  for (int64_t epoch = 0; epoch < epochs; ++epoch) {
    RowOrder order({0, pairs}, ShuffleOptions{.seed = 1, .window_rows = pairs, .block_rows = 1},
                   epoch);
    double loss = 0;
    for (int64_t place = 0; place < pairs; place += kBatch) {
      std::vector<int64_t> rows(static_cast<size_t>(std::min(kBatch, pairs - place)));
      order.Rows(place, rows);
      loss += Step(ctx, model, dense, Draw(ctx, likes, rows)) * static_cast<double>(rows.size());
    }
    std::printf("epoch %2lld  loss %.4f\n", static_cast<long long>(epoch + 1),
                loss / static_cast<double>(pairs));
  }
}

// 0, 1, …, count - 1.
Tensor Numbers(Context& ctx, int64_t count) {
  std::vector<int64_t> numbers(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) numbers[static_cast<size_t>(i)] = i;
  return Tensor::From(ctx, numbers);
}

// a·bᵀ, nothing recorded.
Tensor Products(Context& ctx, const Tensor& a, const Tensor& b) {
  return MatMul(ctx, Variable(a), Variable(b), /*transpose_b=*/true).value();
}

double RecallOfModel(Context& ctx, const Likes& likes, const Tensor& users, const Tensor& items) {
  Tensor scores;  // of one user, [1, items]
  return RecallAt(likes, kTop, [&](int64_t user) -> std::span<const float> {
    scores = Products(ctx, users.Rows(user, user + 1), items);
    return scores.span<float>();
  });
}

double RecallOfPopular(const Likes& likes) {
  const std::vector<float> scores(likes.popularity.begin(), likes.popularity.end());
  return RecallAt(likes, kTop, [&](int64_t) -> std::span<const float> { return scores; });
}

// For the items that most people like, those in nearly the same direction.
void PrintNearest(Context& ctx, const Likes& likes, const Tensor& items) {
  const std::vector<float> popular(likes.popularity.begin(), likes.popularity.end());
  std::vector<float> lengths;
  for (int64_t i = 0; i < items.dim(0); ++i) {
    double sum = 0;
    for (const float x : items.Rows(i, i + 1).span<float>()) sum += double{x} * double{x};
    lengths.push_back(static_cast<float>(std::sqrt(sum)) + 1e-12f);
  }
  for (const int64_t item : TopItems(popular, 5, {})) {
    const Tensor products = Products(ctx, items.Rows(item, item + 1), items);
    const auto scores = products.span<float>();
    for (size_t i = 0; i < scores.size(); ++i) scores[i] /= lengths[i];
    std::printf("nearest to item %lld:",
                static_cast<long long>(likes.item_ids[static_cast<size_t>(item)]));
    for (const int64_t near : TopItems(scores, 5, std::vector<int64_t>{item}))
      std::printf(" %lld", static_cast<long long>(likes.item_ids[static_cast<size_t>(near)]));
    std::printf("\n");
  }
}

int Run(const Flags& flags) {
  const Likes likes = SplitLikes(ReadRatings({flags.data}), flags.like_from, /*seed=*/1);
  std::printf("%lld users, %lld items, %zu likes to train on; %s are held out\n",
              static_cast<long long>(likes.num_users()), static_cast<long long>(likes.num_items()),
              likes.users.size(),
              likes.by_time ? "each user's last ones" : "others (the file has no times)");
  Context ctx({.seed = 1});
  TwoTower model(ctx, {.query_table = Table("t_userId", "userId", likes.num_users()),
                       .candidate_table = Table("t_movieId", "movieId", likes.num_items()),
                       .layers = {kDim}});
  Train(ctx, model, likes, flags.epochs);
  const Tensor users = model.EmbedQueries(ctx, Numbers(ctx, likes.num_users()));
  const Tensor items = model.EmbedCandidates(ctx, Numbers(ctx, likes.num_items()));
  const double ours = RecallOfModel(ctx, likes, users, items), popular = RecallOfPopular(likes);
  std::printf("recall@%zu  two towers %.4f  most popular %.4f\n", kTop, ours, popular);
  PrintNearest(ctx, likes, items);
  return ours > popular ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return Run(ParseFlags(argc, argv));
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
