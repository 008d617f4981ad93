#include "bench/train/read_work.h"

#include "data/batch_source.h"
#include "data/files/criteo_stream.h"
#include "data/files/data_files.h"
#include "data/preprocess/preprocess.h"
#include "data/row_table_source.h"
#include "runtime/base/check.h"

namespace tessera::bench {
namespace {

using Read = std::function<int64_t()>;  // the number of rows

std::vector<CategoricalFeature> Features(int64_t table_rows) {
  std::vector<CategoricalFeature> features;
  for (int i = 0; i < ClickRow::kCategories; ++i) features.push_back({CategoryName(i), table_rows});
  return features;
}

int64_t Drain(DataSource& source) {
  int64_t rows = 0;
  while (const auto batch = source.Next()) rows += batch->size();
  return rows;
}

Read ReadRows(const std::string& path) {
  return [path] {
    CriteoStream stream(CriteoFiles{{path}});
    ClickRow row;
    int64_t rows = 0;
    while (stream.Next(row)) ++rows;
    return rows;
  };
}

Read ReadBatches(const std::string& path, int64_t batch, int64_t table_rows) {
  return [=] {
    BatchSource source(std::make_unique<CriteoStream>(CriteoFiles{{path}}),
                       BatchBuilder(Features(table_rows), MissingIds::kRow0), batch);
    return Drain(source);
  };
}

Read ReadStored(const std::string& path, int64_t batch, int64_t table_rows, bool shuffled) {
  const auto rows = std::make_shared<StoredRows>(MapStoredFiles({path}), Features(table_rows));
  return [=] {
    RowTableSource source(
        rows, {.batch_size = batch,
               .shuffle = shuffled ? std::optional<ShuffleOptions>(std::in_place) : std::nullopt});
    return Drain(source);
  };
}

// The file that a part reads, and how it reads it.
struct Reader {
  std::string path;
  Read read;
};

Reader MakeReader(const std::string& part, const CriteoText& text, int64_t batch,
                  int64_t table_rows) {
  if (part == "rows") return {text.path(), ReadRows(text.path())};
  if (part == "batches") return {text.path(), ReadBatches(text.path(), batch, table_rows)};
  const std::string output = text.PathFor(part);
  if (part == "preprocess")
    return {text.path(), [output, inputs = std::vector{text.path()}] {
              return Preprocess({.inputs = inputs, .output = output}).rows;
            }};
  const bool npy = part == "npy";
  Preprocess({.inputs = {text.path()},
              .output = output,
              .to = npy ? PreprocessOutput::kNpy : PreprocessOutput::kFolder});
  const std::string path = npy ? output + "/" + InputName(text.path()) : output;
  return {output, ReadStored(path, batch, table_rows, part == "shuffled")};
}

}  // namespace

std::vector<std::string> ReadParts() {
  return {"rows", "batches", "folder", "shuffled", "npy", "preprocess"};
}

Work ReadWork(const std::string& part, std::shared_ptr<CriteoText> text, int64_t batch,
              int64_t table_rows) {
  const Reader reader = MakeReader(part, *text, batch, table_rows);
  Work work;
  work.check = [=] { TESSERA_CHECK_EQ(reader.read(), text->rows(), "rows read by {}", part); };
  work.contenders = {{"tessera", [=](int) { reader.read(); }}};
  work.bytes = static_cast<double>(BytesAt(reader.path));
  work.items = text->rows();
  work.item = "rows";
  return work;
}

}  // namespace tessera::bench
