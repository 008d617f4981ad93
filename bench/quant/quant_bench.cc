// Lookups from stored rows and encoding of tables beside bare loops that move the same bytes, from
// cold caches, in one process:
//
//   bazel run -c opt //bench/quant:quant_bench -- --threads 1,2
//   bazel run -c opt //bench/quant:quant_bench -- --only 'int8.*' --json ours.json
//
// The cases and their names are those of a comparison with FBGEMM's inference lookups: 8 tables of a
// million rows, 4,096 bags of 20 ids. "share" is the median over rounds of bare seconds / ours.
// Rows are stored without padding, as FBGEMM has them on a CPU.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <regex>

#include "bench/embedding/workload.h"
#include "bench/harness/bench_main.h"
#include "bench/harness/cold_rounds.h"
#include "bench/quant/bare_rows.h"
#include "embedding/quantized/quantized_lookup.h"
#include "quant/row_codec.h"
#include "runtime/check.h"

namespace tessera::bench {
namespace {

using Json = nlohmann::json;

struct Case {
  std::string name;
  RowCodec codec;
  int64_t dim = 128, tables = 8, rows = 1'000'000, batch = 4096, ids = 20;
  double zipf = 0;
  bool sequence = false, weighted = false;
  DType output = DType::kF32;
};

RowCodec Unpadded(const std::string& name) { return ParseRowCodec(name + "@1"); }

std::vector<Case> LookupCases() {
  std::vector<Case> cases;
  const auto add = [&](const std::string& codec, const std::string& what, const auto& change) {
    Case c{codec + "_" + what, Unpadded(codec)};
    change(c);
    cases.push_back(c);
  };
  for (const char* codec : {"int8", "int4", "int2", "f16", "hfp8", "e4m3", "f32"})
    add(codec, "D128", [](Case&) {});
  for (const char* codec : {"int8", "int4"}) {
    add(codec, "D128_out16", [](Case& c) { c.output = DType::kF16; });
    add(codec, "D128_zipf1.05", [](Case& c) { c.zipf = 1.05; });
    add(codec, "D128_weighted", [](Case& c) { c.weighted = true; });
    add(codec, "D256", [](Case& c) { c.dim = 256; });
    add(codec, "D64", [](Case& c) { c.dim = 64; });
    add(codec, "D16", [](Case& c) { c.dim = 16; });
    add(codec, "L1_D64", [](Case& c) {
      c.dim = 64;
      c.tables = 26;
      c.batch = 2048;
      c.ids = 1;
      c.zipf = 1.05;
    });
    add(codec, "D128_sequence", [](Case& c) {
      c.ids = 5;
      c.sequence = true;
    });
  }
  return cases;
}

// Tables, batches and the calls of one case.
class LookupCase {
 public:
  static constexpr int kBatches = 4;

  LookupCase(Context& ctx, const Case& c) : case_(c), bytes_(RowBytes(c.codec, c.dim)) {
    const Tensor some = Tensor::Empty(ctx, {1000, c.dim});
    FillUniform(ctx, some, -1, 1);
    const Tensor encoded = EncodeRows(ctx, c.codec, some);
    for (int64_t t = 0; t < c.tables; ++t) {
      Tensor table = Tensor::Empty(ctx, {c.rows, bytes_}, DType::kU8);
      for (int64_t r = 0; r < c.rows; r += 1000)
        table.Rows(r, std::min(r + 1000, c.rows))
            .CopyFrom(ctx, encoded.Rows(0, std::min<int64_t>(1000, c.rows - r)));
      tables_.push_back(table);
      pointers_.push_back(table.data<uint8_t>());
    }
    const int64_t bags = c.tables * c.batch;
    for (int64_t i = 0; i <= bags; ++i) offsets_.push_back(static_cast<int32_t>(i * c.ids));
    for (int64_t i = 0; i <= bags * c.ids; ++i) each_.push_back(static_cast<int32_t>(i));
    for (int k = 0; k < kBatches; ++k) ids_.push_back(DrawIds(k));
    output_ = c.sequence ? Tensor::Zeros(ctx, {bags * c.ids, c.dim}, c.output)
                         : Tensor::Zeros(ctx, {c.batch, c.tables * c.dim}, c.output);
    if (c.weighted) weights_.assign(static_cast<size_t>(bags * c.ids), 0.5f);
  }

  void Lookup(Context& ctx, int round) {
    const int64_t element = SizeOf(case_.output);
    std::vector<QuantizedLookupFeature> features;
    for (int64_t t = 0; t < case_.tables; ++t) {
      QuantizedLookupFeature f;
      f.rows = pointers_[static_cast<size_t>(t)];
      f.layout = LayoutOf(case_.codec, case_.dim);
      f.num_rows = case_.rows;
      f.dim = case_.dim;
      f.ids = {ids(round).data(), false};
      f.first_bag = t * case_.batch;
      f.num_bags = case_.batch;
      f.pooling = case_.sequence ? PoolingType::kNone : PoolingType::kSum;
      f.output_type = case_.output;
      f.output_stride = case_.sequence ? case_.dim : case_.tables * case_.dim;
      f.output = static_cast<char*>(output_.raw_data()) +
                 (case_.sequence ? t * case_.batch * case_.ids : t) * case_.dim * element;
      features.push_back(f);
    }
    QuantizedLookup(ctx, {features,
                          {offsets_.data(), false},
                          case_.weighted ? weights_.data() : nullptr,
                          offsets_.back()});
  }
  BareRows Bare(int round) const {
    auto* out = static_cast<uint8_t*>(output_.raw_data());
    const int64_t row = case_.dim * SizeOf(case_.output);
    if (!case_.sequence)
      return {pointers_.data(),  case_.tables,    case_.batch, bytes_, row,
              ids(round).data(), offsets_.data(), out};
    return {pointers_.data(), case_.tables, case_.batch * case_.ids, bytes_, row, ids(round).data(),
            each_.data(),     out};
  }
  double Bytes() const { return static_cast<double>(offsets_.back() * bytes_ + output_.nbytes()); }

 private:
  const std::vector<int32_t>& ids(int round) const {
    return ids_[static_cast<size_t>(round % kBatches)];
  }
  std::vector<int32_t> DrawIds(int seed) const {
    std::mt19937_64 random(static_cast<uint64_t>(seed) + 1);
    std::uniform_real_distribution<double> uniform;
    std::vector<int32_t> ids(static_cast<size_t>(offsets_.back()));
    for (int32_t& id : ids)
      id = static_cast<int32_t>(DrawRow(uniform(random), case_.rows, case_.zipf));
    return ids;
  }

  Case case_;
  int64_t bytes_;
  std::vector<Tensor> tables_;
  std::vector<const uint8_t*> pointers_;
  std::vector<int32_t> offsets_, each_;
  std::vector<std::vector<int32_t>> ids_;
  std::vector<float> weights_;
  Tensor output_;
};

class Table {
 public:
  explicit Table(int threads) : threads_(threads) {
    std::printf("%s; %d threads, cold\n", MachineName().c_str(), threads);
    std::printf("%-24s %9s %9s %8s %8s\n", "", "bare ms", "ours ms", "GB/s", "share");
  }
  void Add(const std::string& name, const std::vector<Timing>& t, double bytes) {
    const double gbps = bytes / t[1].Median() * 1e-9, share = Share(t[0], t[1]);
    std::printf("%-24s %9.2f %9.2f %8.2f %7.1f%%\n", name.c_str(), 1e3 * t[0].Median(),
                1e3 * t[1].Median(), gbps, 100 * share);
    std::fflush(stdout);
    json_.push_back({{"case", name},
                     {"threads", threads_},
                     {"bare_seconds", t[0].Median()},
                     {"seconds", t[1].Median()},
                     {"p90", t[1].Quantile(0.9)},
                     {"gbps", gbps},
                     {"share", share}});
  }
  const Json& json() const { return json_; }

 private:
  int threads_;
  Json json_ = Json::array();
};

void RunLookup(Context& ctx, const Case& c, int rounds, Table& table) {
  LookupCase work(ctx, c);
  const auto timings = TimeCold(ctx,
                                {{"bare", [&](int round) { RunBare(ctx, work.Bare(round)); }},
                                 {"ours", [&](int round) { work.Lookup(ctx, round); }}},
                                rounds);
  table.Add(c.name, timings, work.Bytes());
}

// Bytes: the floats that are read.
void RunEncode(Context& ctx, const std::string& name, const RowCodec& codec, int64_t dim,
               const EncodeOptions& options, int rounds, Table& table) {
  const int64_t rows = options.search ? 20'000 : 400'000;
  const Tensor x = Tensor::Empty(ctx, {rows, dim});
  FillUniform(ctx, x, -1, 1);
  const Tensor bytes = Tensor::Zeros(ctx, {rows, RowBytes(codec, dim)}, DType::kU8);
  const int64_t half = (x.nbytes() + bytes.nbytes()) / 2 / 64 * 64;
  const Tensor from = Tensor::Zeros(ctx, {half}, DType::kU8),
               to = Tensor::Zeros(ctx, {half}, DType::kU8);
  const BareCopy copy{from.data<uint8_t>(), to.data<uint8_t>(), half};
  const auto timings =
      TimeCold(ctx,
               {{"bare", [&](int) { RunBare(ctx, copy); }},
                {"ours", [&](int) { EncodeRowsInto(ctx, codec, x, bytes, options); }}},
               rounds);
  table.Add(name, timings, static_cast<double>(x.nbytes()));
}

void RunAll(Context& ctx, const std::string& only, int rounds, Table& table) {
  const std::regex pattern(only);
  const auto wants = [&](const std::string& name) { return std::regex_match(name, pattern); };
  for (const Case& c : LookupCases())
    if (wants(c.name)) RunLookup(ctx, c, rounds, table);
  for (const char* codec :
       {"int8_f32_tail", "int8", "int4_tail", "int2_tail", "f16", "hfp8", "mx4"})
    for (const int64_t dim : {128, 16}) {
      const std::string name = Format("quantize_{}_D{}", codec, dim);
      if (wants(name) && (dim == 128 || std::string(codec) != "mx4"))
        RunEncode(ctx, name, Unpadded(codec), dim, {}, rounds, table);
    }
  for (const char* codec : {"int4", "int2"}) {
    const std::string name = Format("search_{}_D128", codec);
    if (wants(name)) RunEncode(ctx, name, Unpadded(codec), 128, {.search = true}, rounds, table);
  }
}

int Main(int argc, char** argv) {
  std::vector<int> threads = {1};
  int rounds = 11;
  std::string only = ".*", json_path;
  CLI::App app("Lookups from stored rows, and encoding, beside bare loops, caches cold");
  app.add_option("--threads", threads, "one table of results each")->delimiter(',');
  app.add_option("--rounds", rounds, "timed rounds")->capture_default_str();
  app.add_option("--only", only, "cases whose names match")->capture_default_str();
  app.add_option("--json", json_path, "also write the results to this file");
  CLI11_PARSE(app, argc, argv);
  Json json = Json::array();
  for (const int count : threads) {
    Context ctx({.threads = count, .seed = 5});
    Table table(count);
    RunAll(ctx, only, rounds, table);
    for (const Json& row : table.json()) json.push_back(row);
  }
  if (!json_path.empty()) std::ofstream(json_path) << json.dump(1) << "\n";
  return 0;
}

}  // namespace
}  // namespace tessera::bench

int main(int argc, char** argv) {
  return tessera::bench::BenchMain("quant_bench", tessera::bench::Main, argc, argv);
}
