#include "bench/data/read_topic.h"

#include <cstring>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "bench/data/multi_hot_files.h"
#include "bench/data/text_cases.h"
#include "bench/harness/run_bare.h"
#include "bench/harness/scratch_folder.h"
#include "data/files/text_file.h"
#include "data/row_table_source.h"
#include "data/rows/text_row_source.h"
#include "runtime/base/check.h"
#include "runtime/context.h"
#include "runtime/files/files.h"

namespace tessera::bench {
namespace {

constexpr char kDays[] = "npz", kFolder[] = "folder";
// Where the scripts' files lie in the folder of --files.
constexpr char kMultiHotFiles[] = "multihot", kTextFiles[] = "read_text";

struct Count {
  int64_t rows = 0, ids = 0;
};

Count Drain(DataSource& source) {
  Count count;
  while (const auto batch = source.Next()) {
    count.rows += batch->size();
    count.ids += batch->features.values().numel();
  }
  return count;
}

// Copies a part of some bytes with each thread.
struct CopyBytes {
  const char* from;
  char* to;
  int64_t bytes;
  void Run(int64_t part, int64_t parts) const {
    const int64_t begin = bytes * part / parts, end = bytes * (part + 1) / parts;
    std::memcpy(to + begin, from + begin, static_cast<size_t>(end - begin));
  }
};

Contender Memcpy(Context& ctx, int64_t bytes) {
  const auto from = std::make_shared<std::vector<char>>(bytes, '\1');
  const auto to = std::make_shared<std::vector<char>>(bytes, '\0');
  return {"memcpy", [&ctx, from, to, bytes](int) {
            RunBare(ctx, CopyBytes{from->data(), to->data(), bytes});
          }};
}

// ---- text

// By a loop of its own over the lines.
Count CountInFile(const TextCase& text, const std::string& path) {
  std::ifstream file(path);
  std::string line;
  if (text.heading) std::getline(file, line);
  Count count;
  while (std::getline(file, line)) {
    ++count.rows;
    count.ids += text.ids_a_line;
    for (size_t i = 0; text.mark != '\0' && i + 1 < line.size(); ++i)
      count.ids += line[i] == text.mark ? 1 : 0;
  }
  return count;
}

const TextCase* FindText(const std::string& name) {
  for (const TextCase& text : TextCases())
    if (text.name == name) return &text;
  return nullptr;
}

Work TextWork(Context& ctx, const TextCase& text, const std::string& files, int64_t batch) {
  const std::string path = PathIn(PathIn(files, kTextFiles), text.file);
  const TextFile probe(path);
  const auto rules = std::make_shared<const RowRules>(ParseDataSchema(text.schema), text.features);
  const RowFiles row_files{.paths = {path}, .threads = ctx.threads().threads()};
  const auto read = [=] {
    TextRowSource source(rules, row_files, {.batch_size = batch});
    return Drain(source);
  };
  const Count expected = CountInFile(text, path);
  Work work;
  work.check = [=] {
    const Count got = read();
    TESSERA_CHECK_EQ(got.rows, expected.rows, "rows of {}", path);
    TESSERA_CHECK_EQ(got.ids, expected.ids, "ids of {}", path);
  };
  work.contenders = {{"tessera", [=](int) { read(); }}};
  work.limit = Memcpy(ctx, probe.bytes());
  work.bytes = static_cast<double>(probe.bytes());
  work.items = expected.rows;
  work.item = "rows";
  return work;
}

// ---- mapped files

// Bytes of the rows as numbers, ids and labels of 4 bytes.
int64_t BytesOfRows(Context& ctx, const RowTable& table) {
  const Batch row = table.Gather(ctx, std::vector<int64_t>{0});
  return 4 * table.rows() *
         (row.dense.numel() + row.features.values().numel() + row.labels.numel());
}

Work MappedWork(Context& ctx, const std::string& rows, const std::string& files, int64_t batch) {
  const std::string folder = PathIn(files, kMultiHotFiles);
  const auto scratch = std::make_shared<ScratchFolder>("");
  std::shared_ptr<const RowTable> table = MapDays(folder);
  if (rows == kFolder) table = FolderOf(ctx, *table, PathIn(scratch->path(), "rows"));
  const int64_t bytes = BytesOfRows(ctx, *table);
  Work work;
  work.check = [&ctx, table, folder] { CheckRowsOfDays(ctx, *table, folder); };
  work.contenders = {{"tessera", [table, scratch, batch](int) {
                        RowTableSource source(table, {.batch_size = batch});
                        Drain(source);
                      }}};
  work.limit = Memcpy(ctx, bytes);
  work.bytes = static_cast<double>(bytes);
  work.items = table->rows();
  work.item = "rows";
  return work;
}

// ---- the topic

void CheckPoint(const Point& point) {
  for (const char* axis : {"rows", "batch"}) point.Text(axis);
  if (point.Text("files").empty())
    throw Error(
        Format("--files: expected a folder with {} and {}, in which the peers' scripts multihot.py "
               "and read_text.py keep their files, got none",
               kMultiHotFiles, kTextFiles));
}

Work MakeWork(Context& ctx, const Point& point) {
  CheckPoint(point);
  const std::string &rows = point.Text("rows"), &files = point.Text("files");
  const int64_t batch = point.Int("batch");
  if (const TextCase* const text = FindText(rows)) return TextWork(ctx, *text, files, batch);
  return MappedWork(ctx, rows, files, batch);
}

std::vector<std::string> AllRows() {
  std::vector<std::string> all = {kDays, kFolder};
  for (const TextCase& text : TextCases()) all.push_back(text.name);
  return all;
}

std::vector<Point> TextPoints() {
  std::vector<Point> points;
  for (const TextCase& text : TextCases())
    points.emplace_back(text.name, PointValues{{"rows", text.name}});
  return points;
}

// One thread reads mapped rows.
std::vector<Point> MappedPoints() {
  return {Point("read_B2048", {{"rows", kDays}, {"batch", "2048"}, {"threads", "1"}}),
          Point("read_folder_B2048", {{"rows", kFolder}, {"batch", "2048"}, {"threads", "1"}})};
}

}  // namespace

const Topic& ReadTopic() {
  static const Topic topic = {
      .name = "read",
      .help = "A user's own rows as batches: text by a schema, npz days, row folders.",
      .limit = "a memcpy of as many bytes",
      .axes = {{"rows", AllRows(), "which: npz days, a folder of the same rows, or a file of text",
                OneOf(AllRows())},
               {"files", {""}, "folder of the files that multihot.py and read_text.py generate"},
               {"batch", {"2048"}, "rows of a batch", WholeFrom(1)}},
      .suites = {{"multihot", "npz days and their row folder, on one thread", MappedPoints()},
                 {"text", "text by a schema", TextPoints()}},
      .make = MakeWork,
      .check = CheckPoint,
      .cold = false};
  return topic;
}

}  // namespace tessera::bench
