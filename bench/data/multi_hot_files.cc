#include "bench/data/multi_hot_files.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <numeric>
#include <string>
#include <vector>

#include "bench/data/text_cases.h"
#include "data/files/bag_folder.h"
#include "data/files/multi_hot_rows.h"
#include "data/files/npy.h"
#include "data/files/npz.h"
#include "data/preprocess/parse_rows.h"
#include "data/row_table_source.h"
#include "runtime/base/check.h"
#include "runtime/files/files.h"
#include "runtime/tensor.h"

namespace tessera::bench {
namespace {

constexpr int64_t kRowsAtOnce = 2048;  // that are written, or checked

const TextCase& JsonCase() { return TextCases().front(); }

std::vector<std::string> DaysIn(const std::string& folder) {
  return {PathIn(folder, "day_0"), PathIn(folder, "day_1")};
}

// Rows [begin, begin + kRowsAtOnce) of a table, or fewer at its end.
Batch RowsFrom(Context& ctx, const RowTable& table, int64_t begin) {
  std::vector<int64_t> rows(static_cast<size_t>(std::min(kRowsAtOnce, table.rows() - begin)));
  std::iota(rows.begin(), rows.end(), begin);
  return table.Gather(ctx, rows);
}

// ",NAME:[1,2]"
template <typename T>
void AppendList(std::string& line, const std::string& name, const T* numbers, int64_t count) {
  line += Format("\"{}\":", name);
  for (int64_t i = 0; i < count; ++i) line += Format("{}{}", i == 0 ? '[' : ',', numbers[i]);
  line += count == 0 ? "[]," : "],";
}

void AppendLines(const Batch& batch, std::string& text) {
  const std::vector<int64_t>& begins = batch.features.offset_per_key();
  const int64_t rows = batch.size(), numbers = batch.dense.dim(1);
  for (int64_t b = 0; b < rows; ++b) {
    text += '{';
    AppendList(text, "dense", batch.dense.data<float>() + b * numbers, numbers);
    for (size_t k = 0; k < batch.features.keys().size(); ++k) {
      const int64_t hot = batch.features.length_per_key()[k] / rows;
      AppendList(text, batch.features.keys()[k],
                 batch.features.values().data<int32_t>() + begins[k] + b * hot, hot);
    }
    text += Format("\"label\":{}}}\n", batch.labels.data<float>()[b]);
  }
}

// Element i of an array, which may begin at any address.
template <typename T>
T Element(const Tensor& array, int64_t i) {
  T element;
  std::memcpy(&element, static_cast<const char*>(array.raw_data()) + i * int64_t{sizeof(T)},
              sizeof(T));
  return element;
}

// Rows of a day, beside rows of the table from `first` on; returns how many the day has.
int64_t CheckDay(Context& ctx, const RowTable& table, int64_t first, const std::string& day) {
  const Tensor dense = MapNpy(day + "_dense.npy"), labels = MapNpy(day + "_labels.npy");
  const NpzFile archive(day + "_sparse_multi_hot.npz");
  const auto features = MultiHotFeatures();
  std::vector<Tensor> ids;
  for (size_t f = 0; f < features.size(); ++f) ids.push_back(archive.Array(std::to_string(f)));
  const int64_t rows = dense.dim(0), numbers = dense.dim(1);
  for (int64_t row = 0; row < rows; ++row) {
    const Batch got = table.Gather(ctx, std::vector<int64_t>{first + row});
    bool same = got.labels.data<float>()[0] == static_cast<float>(Element<int32_t>(labels, row));
    for (int64_t i = 0; i < numbers; ++i)
      same &= got.dense.data<float>()[i] == Element<float>(dense, row * numbers + i);
    const int32_t* id = got.features.values().data<int32_t>();
    for (size_t f = 0; f < features.size(); ++f)
      for (int64_t i = row * ids[f].dim(1); i < (row + 1) * ids[f].dim(1); ++i)
        same &= *id++ == Element<int32_t>(ids[f], i) % features[f].rows;
    TESSERA_CHECK(same, "row {} of {} is not what its files have", row, day);
  }
  return rows;
}

}  // namespace

std::shared_ptr<const RowTable> MapDays(const std::string& folder) {
  return std::make_shared<const StoredBags>(MapMultiHotDays(
      MultiHotDays(DaysIn(folder)), ParseDataSchema(R"({"format": "npz"})"), MultiHotFeatures()));
}

std::shared_ptr<const RowTable> FolderOf(Context& ctx, const RowTable& rows,
                                         const std::string& to) {
  const std::string lines = to + ".jsonl";
  std::ofstream file(lines, std::ios::binary);
  for (int64_t begin = 0; begin < rows.rows(); begin += kRowsAtOnce) {
    std::string text;
    AppendLines(RowsFrom(ctx, rows, begin), text);
    file << text;
  }
  file.close();
  TESSERA_CHECK(file, "{} cannot be written", lines);
  const DataSchema schema = ParseDataSchema(JsonCase().schema);
  ParseRows({.inputs = {lines}, .output = to, .schema = schema, .features = MultiHotFeatures()});
  return std::make_shared<const StoredBags>(MapBagFolders({to}, schema, MultiHotFeatures()));
}

void CheckRowsOfDays(Context& ctx, const RowTable& table, const std::string& folder) {
  int64_t rows = 0;
  for (const std::string& day : DaysIn(folder)) rows += CheckDay(ctx, table, rows, day);
  TESSERA_CHECK_EQ(table.rows(), rows, "rows of the days in {}", folder);
}

}  // namespace tessera::bench
