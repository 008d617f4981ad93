#include "bench/data/text_cases.h"

#include <algorithm>
#include <numeric>

#include "data/click_row.h"

namespace tessera::bench {
namespace {

constexpr int64_t kMaxRows = 100'000;  // of a table

constexpr char kMultiHotJson[] = R"({"format": "jsonl", "dense": [{"name": "dense", "size": 13}],
  "labels": ["label"]})";
constexpr char kMultiHotCsv[] = R"({"format": "csv", "dense": ["int_{0..12}"],
  "features": [{"name": "cat_{0..25}", "separator": "|"}], "labels": ["label"]})";
// examples/criteo_columns.json has this schema, and the next but one is examples/movielens.json's.
constexpr char kCriteo[] = R"({"format": "tsv", "columns": ["label", "int_{0..12}", "cat_{0..25}"],
  "dense": [{"name": "int_{0..12}", "transform": "log1p"}],
  "features": [{"name": "cat_{0..25}", "ids": "hex", "missing": "row0"}], "labels": ["label"]})";
constexpr char kBooks[] = R"({"format": "csv", "delimiter": " ", "columns": ["user", "items"],
  "features": ["user", {"name": "items", "separator": " "}]})";

// format: "tsv" or "jsonl"; genres: what separates them in a cell.
std::string MovieLens(const std::string& format, const std::string& genres) {
  return R"({"format": ")" + format + R"(", "dense": [{"name": "year", "normalize": [1986, 17]}],
  "features": [{"name": "gender", "vocabulary": ["F", "M"]},
    {"name": "age", "boundaries": [18, 25, 35, 45, 50, 56]}, {"name": "zip", "ids": "text"},
    {"name": "genres", )" +
         genres + R"("vocabulary": ["Action", "Adventure", "Animation", "Children's", "Comedy",
      "Crime", "Documentary", "Drama", "Fantasy", "Film-Noir", "Horror", "Musical", "Mystery",
      "Romance", "Sci-Fi", "Thriller", "War", "Western"]}],
  "labels": [{"name": "like", "from": "rating", "at_least": 4}])" +
         (format == "jsonl" ? "}" : R"(, "columns": ["rating", "user", "item", "gender", "age",
  "occupation", "zip", "year", "genres"]})");
}

std::vector<CategoricalFeature> CriteoFeatures() {
  std::vector<CategoricalFeature> features;
  for (int i = 0; i < ClickRow::kCategories; ++i) features.push_back({CategoryName(i), kMaxRows});
  return features;
}

std::vector<CategoricalFeature> MovieLensFeatures() {
  return {{"user", 6041},     {"item", 3953}, {"gender", 3}, {"age", 7},
          {"occupation", 21}, {"zip", 5000},  {"genres", 19}};
}

int64_t MultiHotIds() {
  return std::accumulate(MultiHotSizes().begin(), MultiHotSizes().end(), int64_t{0});
}

}  // namespace

const std::vector<int64_t>& MultiHotSizes() {
  static const std::vector<int64_t> sizes = {3, 2, 1, 2, 6, 1, 1,  1,   1,  7,  3, 8, 1,
                                             6, 9, 5, 1, 1, 1, 12, 100, 27, 10, 3, 1, 1};
  return sizes;
}

std::vector<CategoricalFeature> MultiHotFeatures() {
  constexpr int64_t kRows[] = {
      40'000'000, 39'060,     17'295,     7'424,      20'265,  3,      7'122, 1'543, 63,
      40'000'000, 3'067'956,  405'282,    10,         2'209,   11'938, 155,   4,     976,
      14,         40'000'000, 40'000'000, 40'000'000, 590'152, 12'973, 108,   36};
  std::vector<CategoricalFeature> features;
  for (const int64_t rows : kRows)
    features.push_back({CategoryName(static_cast<int>(features.size())), std::min(rows, kMaxRows)});
  return features;
}

const std::vector<TextCase>& TextCases() {
  static const std::vector<TextCase> cases = {
      {"text_multihot_jsonl", "multihot.jsonl", kMultiHotJson, MultiHotFeatures(), MultiHotIds()},
      {"text_multihot_csv", "multihot.csv", kMultiHotCsv, MultiHotFeatures(), MultiHotIds(), '\0',
       true},
      {"text_criteo_tsv", "criteo.tsv", kCriteo, CriteoFeatures(), ClickRow::kCategories},
      {"text_ml1m_tsv", "ml1m.tsv", MovieLens("tsv", R"("separator": "|", )"), MovieLensFeatures(),
       7, '|'},
      // Eight commas of a line are between keys.
      {"text_ml1m_jsonl", "ml1m.jsonl", MovieLens("jsonl", ""), MovieLensFeatures(), 7 - 8, ','},
      {"text_amazon_txt", "amazon.txt", kBooks, {{"user", 52'643}, {"items", 91'599}}, 1, ' '}};
  return cases;
}

}  // namespace tessera::bench
