// How fast rows are read, on one core, from files that are in the page cache:
//
//   bazel run -c opt //bench/train:data_bench -- --data clicks.tsv
//
// rows: parsed. batches: as a model takes them. The text is preprocessed to a folder and npy files
// in --scratch first. MB/s is of the file that is read; all by the fastest round.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <limits>

#include "bench/harness/bench_main.h"
#include "bench/harness/cold_rounds.h"
#include "bench/harness/scratch_folder.h"
#include "train/data/batch_source.h"
#include "train/data/criteo_stream.h"
#include "train/data/data_files.h"
#include "train/data/preprocess/preprocess.h"
#include "train/data/row_table_source.h"

namespace tessera::bench {
namespace {

namespace fs = std::filesystem;

struct Options {
  std::string data, scratch;
  int64_t batch = 2048, table_rows = 100'000;
  int rounds = 5;
};

std::vector<CategoricalFeature> Features(const Options& o) {
  std::vector<CategoricalFeature> features;
  for (int i = 0; i < ClickRow::kCategories; ++i)
    features.push_back({CategoryName(i), o.table_rows});
  return features;
}

int64_t BytesAt(const std::string& path) {
  if (!fs::is_directory(path)) return static_cast<int64_t>(fs::file_size(path));
  int64_t bytes = 0;
  for (const auto& entry : fs::directory_iterator(path))
    bytes += static_cast<int64_t>(entry.file_size());
  return bytes;
}

// `read` says how many rows there were.
void Time(const char* name, const std::string& path, int rounds,
          const std::function<int64_t()>& read) {
  using Clock = std::chrono::steady_clock;
  double fastest = std::numeric_limits<double>::infinity();
  int64_t rows = 0;
  for (int i = 0; i < rounds; ++i) {
    const auto begin = Clock::now();
    rows = read();
    fastest = std::min(fastest, std::chrono::duration<double>(Clock::now() - begin).count());
  }
  std::printf("%-30s %12.0f rows/s %8.0f MB/s\n", name, static_cast<double>(rows) / fastest,
              static_cast<double>(BytesAt(path)) / fastest / 1e6);
  std::fflush(stdout);
}

int64_t Drain(DataSource& source) {
  int64_t rows = 0;
  while (const auto batch = source.Next()) rows += batch->size();
  return rows;
}

int64_t ReadStored(const Options& o, const std::string& path,
                   const std::optional<ShuffleOptions>& shuffle) {
  const auto rows = std::make_shared<StoredRows>(MapStoredFiles({path}), Features(o));
  RowTableSource source(rows, {.batch_size = o.batch, .shuffle = shuffle});
  return Drain(source);
}

void Run(const Options& o) {
  const auto lines = [&] { return std::make_unique<CriteoStream>(CriteoFiles{{o.data}}); };
  Time("text, rows", o.data, o.rounds, [&] {
    const auto stream = lines();
    ClickRow row;
    int64_t rows = 0;
    while (stream->Next(row)) ++rows;
    return rows;
  });
  Time("text, batches", o.data, o.rounds, [&] {
    BatchSource source(lines(), BatchBuilder(Features(o), MissingIds::kRow0), o.batch);
    return Drain(source);
  });
  const ScratchFolder scratch(o.scratch);
  const std::string folder = scratch.path() + "/folder", npy = scratch.path() + "/npy";
  Time("preprocess, of the text", o.data, 1,
       [&] { return Preprocess({.inputs = {o.data}, .output = folder}).rows; });
  Preprocess({.inputs = {o.data}, .output = npy, .to = PreprocessOutput::kNpy});
  const ShuffleOptions shuffle;
  Time("folder, batches", folder, o.rounds, [&] { return ReadStored(o, folder, {}); });
  Time("folder, shuffled batches", folder, o.rounds,
       [&] { return ReadStored(o, folder, shuffle); });
  Time("npy, batches", npy, o.rounds,
       [&] { return ReadStored(o, npy + "/" + InputName(o.data), {}); });
}

int Main(int argc, char** argv) {
  Options o;
  CLI::App app("How fast rows are read");
  app.add_option("--data", o.data, "Criteo rows")->required();
  app.add_option("--scratch", o.scratch,
                 "where files are written, in a new folder that is removed");
  app.add_option("--batch", o.batch, "rows a batch")->capture_default_str();
  app.add_option("--table-rows", o.table_rows, "of each of 26 tables")->capture_default_str();
  app.add_option("--rounds", o.rounds, "of which the fastest counts")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  std::printf("%s; one core\n", MachineName().c_str());
  Run(o);
  return 0;
}

}  // namespace
}  // namespace tessera::bench

int main(int argc, char** argv) {
  return tessera::bench::BenchMain("data_bench", tessera::bench::Main, argc, argv);
}
