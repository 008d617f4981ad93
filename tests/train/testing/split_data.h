#ifndef TESSERA_TESTS_TRAIN_TESTING_SPLIT_DATA_H_
#define TESSERA_TESTS_TRAIN_TESTING_SPLIT_DATA_H_
// Kinds of data that all have the same rows, to be split: row n has the item n, which tells it, the
// user 13·n mod 37, and the time 7·n mod 1000.
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "data/first_ids.h"
#include "data/preprocess/parse_rows.h"
#include "data/preprocess/preprocess.h"
#include "tests/data/testing/npz_bytes.h"
#include "tests/train/testing/files.h"
#include "train/data_sets.h"

namespace tessera::testing {

inline constexpr int64_t kRows = 1000;
inline constexpr int64_t kCut = 300;  // where the second file begins, which is compressed

inline int64_t UserOf(int64_t n) { return 13 * n % 37; }
inline int64_t TimeOf(int64_t n) { return 7 * n % 1000; }

// The lines of rows [begin, end).
template <typename LineOf>
std::string Lines(int64_t begin, int64_t end, const LineOf& line_of) {
  std::string text;
  for (int64_t n = begin; n < end; ++n) text += line_of(n) + "\n";
  return text;
}

template <typename LineOf>
std::vector<std::string> TwoFiles(const std::string& name, const LineOf& line_of) {
  return {WriteFile("a_" + name, Lines(0, kCut, line_of)),
          WriteGzFile("b_" + name + ".gz", Lines(kCut, kRows, line_of))};
}

inline std::vector<std::string> Criteo() {
  return TwoFiles("clicks.tsv", [](int64_t n) {
    return Format("{}\t{}{}\t{:x}\t{:x}{}", n % 2, n, std::string(12, '\t'), UserOf(n), n,
                  std::string(24, '\t'));
  });
}

inline std::vector<std::string> Json() {
  return TwoFiles("clicks.jsonl", [](int64_t n) {
    return Format(R"({{"user": {}, "item": {}, "t": {}, "y": {}, "x": {}}})", UserOf(n), n,
                  TimeOf(n), n % 2, n);
  });
}

inline std::vector<std::string> Csv() {
  const std::string heading = "user,item,t,y,x\n";
  const auto line = [](int64_t n) {
    return Format("{},{},{},{},{}", UserOf(n), n, TimeOf(n), n % 2, n);
  };
  return {WriteFile("a.csv", heading + Lines(0, kCut, line)),
          WriteGzFile("b.csv.gz", heading + Lines(kCut, kRows, line))};
}

inline std::vector<std::string> Ratings() {
  return TwoFiles("u.data", [](int64_t n) {
    return Format("{}\t{}\t{}\t{}", UserOf(n), n, 1 + n % 5, TimeOf(n));
  });
}

inline std::vector<std::string> Npz() {
  std::vector<float> x;
  std::vector<int64_t> labels, user, item;
  for (int64_t n = 0; n < kRows; ++n) {
    x.push_back(static_cast<float>(n));
    labels.push_back(n % 2);
    user.push_back(UserOf(n));
    item.push_back(n);
  }
  const std::string shape = Format("({},)", kRows);
  WriteFile("day_dense.npy", NpyOf("<f4", Format("({}, 1)", kRows), x));
  WriteFile("day_labels.npy", NpyOf("<i8", shape, labels));
  WriteFile("day_sparse_multi_hot.npz",
            NpzBytes({{"user", NpyOf("<i8", shape, user)}, {"item", NpyOf("<i8", shape, item)}}));
  return {TempPath("day")};
}

// ---- configurations

inline constexpr char kSchema[] = R"("time": "t", "dense": ["x"], "labels": ["y"])";

struct DataKind {
  std::string name;
  std::string data;  // of the configuration
  std::string user, item;
  int64_t dense_in;
  std::vector<std::string> files;
  bool has_time;
};

inline TrainConfig ConfigOf(const DataKind& kind, const std::string& split, bool shuffled = false) {
  const std::string shuffle =
      shuffled ? R"(, "shuffle": {"seed": 5, "window_rows": 128, "block_rows": 16})" : "";
  return ParseTrainConfig(
      Format(R"({{"tables": [{{"name": "u", "rows": 40, "dim": 4, "features": ["{}"]}},
                             {{"name": "i", "rows": 2000, "dim": 4, "features": ["{}"]}}],
                  "model": {{"type": "dlrm", "dense_in": {}, "dense_arch": [4], "over_arch": [4, 1]}},
                  "optimizer": {{"sparse": {{"name": "sgd", "lr": 0.1}},
                                 "dense": {{"name": "sgd", "lr": 0.1}}}},
                  "data": {{{}{}{}}}, "train": {{"batch_size": 64}}}})",
             kind.user, kind.item, kind.dense_in, kind.data, shuffle,
             split.empty() ? "" : ", \"split\": " + split),
      kind.name);
}

inline std::vector<std::string> CriteoFolder() {
  const std::string path = TempPath("criteo_folder");
  Preprocess({.inputs = Criteo(), .output = path, .shard_rows = 300});
  return {path};
}

inline std::vector<std::string> BagFolder(const DataKind& json) {
  const std::string path = TempPath("bag_folder");
  const TrainConfig config = ConfigOf(json, "");
  ParseRows({.inputs = Json(),
             .output = path,
             .schema = *config.data.schema,
             .features = Features(config),
             .shard_rows = 300});
  return {path};
}

inline const std::vector<DataKind>& Kinds() {
  static const std::vector<DataKind> kinds = [] {
    const std::string criteo = R"("format": "criteo")";
    const DataKind json = {
        "jsonl", Format("\"format\": \"jsonl\", {}", kSchema), "user", "item", 1, Json(), true};
    DataKind folder = json;
    folder.name = "bag folder";
    folder.files = BagFolder(json);
    return std::vector<DataKind>{
        {"criteo", criteo, "cat_0", "cat_1", 13, Criteo(), false},
        {"criteo folder", criteo, "cat_0", "cat_1", 13, CriteoFolder(), false},
        json,
        folder,
        {"csv", Format("\"format\": \"csv\", {}", kSchema), "user", "item", 1, Csv(), true},
        {"npz", R"("format": "npz", "features": ["user", "item"])", "user", "item", 1, Npz(),
         false},
        {"movielens", R"("format": "movielens")", "userId", "movieId", 1, Ratings(), true}};
  }();
  return kinds;
}

// The splits that a kind can have.
inline std::vector<std::string> SplitsOf(const DataKind& kind) {
  std::vector<std::string> splits = {
      R"({"by": "random", "fraction": 0.25, "seed": 3})",
      Format(R"({{"by": "key", "feature": "{}", "fraction": 0.3}})", kind.user)};
  if (kind.has_time)
    splits.insert(splits.end(),
                  {R"({"by": "time", "at": 800})", R"({"by": "time", "fraction": 0.2})"});
  return splits;
}

// ---- what is read

// The items of each batch, which tell its rows; rows of Criteo have ids of one more.
inline std::vector<std::vector<int64_t>> BatchesOf(const DataKind& kind, DataSource& source,
                                                   std::vector<int64_t>* ends = nullptr) {
  Context ctx({.threads = 1});
  std::vector<std::vector<int64_t>> batches;
  while (const auto batch = source.Next()) {
    batches.push_back(FirstIds(ctx, *batch, kind.item));
    if (kind.name.starts_with("criteo"))
      for (int64_t& item : batches.back()) --item;
    if (ends != nullptr) ends->push_back(batch->end_row);
  }
  return batches;
}

inline std::vector<int64_t> ItemsOf(const DataKind& kind, DataSource& source) {
  std::vector<int64_t> items;
  for (const auto& batch : BatchesOf(kind, source))
    items.insert(items.end(), batch.begin(), batch.end());
  return items;
}

inline std::vector<int64_t> Sorted(std::vector<int64_t> items) {
  std::ranges::sort(items);
  return items;
}

}  // namespace tessera::testing
#endif  // TESSERA_TESTS_TRAIN_TESTING_SPLIT_DATA_H_
