#include "bench/quant/quant_topic.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "bench/embedding/shape_axes.h"
#include "bench/harness/run_bare.h"
#include "bench/limits/stream_loops.h"
#include "bench/quant/stored_tables.h"
#include "runtime/base/check.h"
#include "runtime/tensor.h"

namespace tessera::bench {
namespace {

Work LookupWork(Context& ctx, const Point& point) {
  const DType output = point.Text("output") == "f16" ? DType::kF16 : DType::kF32;
  const auto tables = std::make_shared<StoredTables>(ctx, ShapeOf(point), CodecOf(point), output);
  Work work;
  work.check = [&ctx, tables] {
    QuantizedLookup(ctx, tables->Lookup(0));
    tables->CheckOutput(ctx);
  };
  work.contenders = {
      {"tessera", [&ctx, tables](int round) { QuantizedLookup(ctx, tables->Lookup(round)); }}};
  if (tables->HasBare())
    work.limit = {"bare gather", [&ctx, tables](int round) { RunBare(ctx, tables->Bare(round)); }};
  work.bytes = tables->Bytes();
  work.items = tables->num_ids();
  work.warm = tables->num_ids() <= kSmallCall;
  return work;
}

// Floats, and the bytes that they become.
struct Encoding {
  RowCodec codec;
  EncodeOptions options;
  Tensor floats, bytes;

  void Run(Context& ctx) const { EncodeRowsInto(ctx, codec, floats, bytes, options); }
  // Some rows: no number is off by half of its row's range.
  void Check(Context& ctx) const;
};

void Encoding::Check(Context& ctx) const {
  Run(ctx);
  const int64_t rows = std::min<int64_t>(floats.dim(0), 64), dim = floats.dim(1);
  const Tensor decoded = DecodeRows(ctx, codec, bytes.Rows(0, rows), dim);
  for (int64_t r = 0; r < rows; ++r) {
    const float *from = floats.data<float>() + r * dim, *to = decoded.data<float>() + r * dim;
    const auto [low, high] = std::minmax_element(from, from + dim);
    for (int64_t d = 0; d < dim; ++d)
      TESSERA_CHECK(std::abs(from[d] - to[d]) <= 0.5f * (*high - *low) + 1e-3f,
                    "row {}, column {}: {} became {}", r, d, from[d], to[d]);
  }
}

// Bytes: the floats that are read, as the peers' script counts.
Work EncodeWork(Context& ctx, const Point& point) {
  const RowCodec codec = CodecOf(point);
  const int64_t rows = point.Int("rows"), dim = point.Int("dim");
  const auto encoding = std::make_shared<Encoding>(
      Encoding{codec,
               {.search = point.Text("op") == "search"},
               Tensor::Empty(ctx, {rows, dim}),
               Tensor::Zeros(ctx, {rows, RowBytes(codec, dim)}, DType::kU8)});
  FillUniform(ctx, encoding->floats, -1, 1);
  const auto read = static_cast<double>(encoding->floats.nbytes());
  const int64_t half = (encoding->floats.nbytes() + encoding->bytes.nbytes()) / 2 / 4;  // in floats
  const Tensor from = Tensor::Zeros(ctx, {half}), to = Tensor::Zeros(ctx, {half});
  Work work;
  work.check = [&ctx, encoding] { encoding->Check(ctx); };
  work.contenders = {{"tessera", [&ctx, encoding](int) { encoding->Run(ctx); }}};
  work.limit = {"bare copy", [&ctx, from, to, half](int) {
                  RunBare(ctx, StreamCopy{from.data<float>(), to.data<float>(), half});
                }};
  work.bytes = read;
  work.items = rows;
  work.item = "rows";
  return work;
}

bool IsLookup(const Point& point) { return point.Text("op") == "lookup"; }

Work MakeWork(Context& ctx, const Point& point) {
  return IsLookup(point) ? LookupWork(ctx, point) : EncodeWork(ctx, point);
}

void CheckPoint(const Point& point) {
  const RowCodec codec = CodecOf(point);
  RowBytes(codec, point.Int("dim"));
  if (IsLookup(point)) {
    ShapeOf(point);
    point.Text("output");
  } else {
    point.Int("rows");
  }
  TESSERA_CHECK(point.Text("op") != "search" || TakesSearch(codec.type),
                "--op search with --codec {}: its rows have no ranges to look for",
                point.Text("codec"));
}

Point LookupPoint(const std::string& label, const std::string& codec, PointValues values = {}) {
  values.emplace_back("codec", codec);
  return Point(label, std::move(values));
}

std::vector<Point> PeerLookups() {
  std::vector<Point> points;
  const std::pair<const char*, const char*> kinds[] = {{"int8", "int8"}, {"int4", "int4"},
                                                       {"int2", "int2"}, {"fp16", "f16"},
                                                       {"fp8", "hfp8"},  {"fp32", "f32"}};
  for (const auto& [name, codec] : kinds)
    points.push_back(LookupPoint(std::string(name) + "_D128", codec));
  for (const std::string codec : {"int8", "int4"}) {
    const auto add = [&](const std::string& name, const PointValues& values) {
      points.push_back(LookupPoint(codec + "_" + name, codec, values));
    };
    add("D128_out16", {{"output", "f16"}});
    add("D128_zipf1.05", {{"skew", "zipf:1.05"}});
    add("D128_weighted", {{"weighted", "yes"}});
    for (const std::string dim : {"256", "64", "16"}) add("D" + dim, {{"dim", dim}});
    add("criteo_D64", CriteoValues("1M", "64", "2048"));
    add("D128_sequence", {{"mode", "none"}, {"pooling", "5"}});
  }
  points.push_back(LookupPoint("int8_call_T1_B1_L1", "int8",
                               {{"dim", "64"},
                                {"rows", "10k"},
                                {"tables", "1"},
                                {"batch", "1"},
                                {"pooling", "1"},
                                {"skew", "zipf:1.05"}}));
  for (const std::string batch : {"1", "64"})
    points.push_back(
        LookupPoint("int8_call_T26_B" + batch + "_L1", "int8", CriteoValues("10k", "64", batch)));
  return points;
}

Point EncodePoint(const std::string& label, const std::string& codec, const std::string& dim,
                  const std::string& rows, const std::string& op = "encode") {
  return Point(label, {{"op", op}, {"codec", codec}, {"dim", dim}, {"rows", rows}});
}

std::vector<Point> PeerPoints() {
  std::vector<Point> points = PeerLookups();
  const std::pair<const char*, const char*> kinds[] = {{"int8", "int8_f32_tail"},
                                                       {"int4", "int4_tail"},
                                                       {"int2", "int2_tail"},
                                                       {"fp16", "f16"},
                                                       {"fp8", "hfp8"}};
  for (const auto& [name, codec] : kinds)
    points.push_back(EncodePoint("quantize_" + std::string(name) + "_D128", codec, "128", "400k"));
  points.push_back(EncodePoint("quantize_int8_D16", "int8_f32_tail", "16", "1600k"));
  return points;
}

std::vector<Point> EncodePoints() {
  std::vector<Point> points;
  for (const std::string codec :
       {"int8_f32_tail", "int8", "int4_tail", "int2_tail", "f16", "hfp8", "mx4"})
    for (const std::string dim : {"128", "16"})
      if (codec != "mx4" || dim == "128")
        points.push_back(EncodePoint("encode_" + codec + "_D" + dim, codec, dim, "400k"));
  for (const std::string codec : {"int4", "int2"})
    points.push_back(EncodePoint("search_" + codec + "_D128", codec, "128", "20k", "search"));
  return points;
}

std::vector<Axis> QuantAxes() {
  std::vector<Axis> axes = {
      {"op",
       {"lookup"},
       "lookup; encode: a table of f32 rows; search: the same, looking for better ranges",
       OneOf({"lookup", "encode", "search"})},
      CodecAxis("how rows are stored, by its name in the documentation of row codecs"),
      {"output", {"f32"}, "type of looked-up rows: f32 or f16", OneOf({"f32", "f16"})}};
  for (Axis& axis : ShapeAxes({.rows = false}, /*files=*/false)) axes.push_back(std::move(axis));
  return axes;
}

}  // namespace

const Topic& QuantTopic() {
  static const Topic topic = {
      .name = "quant",
      .help = "Lookups from stored rows of few bits, and encoding of rows.",
      .limit = "a bare gather of the same bytes; of encoding, a copy that moves as many",
      .axes = QuantAxes(),
      .suites = {{"peers", "the cases of the comparison with FBGEMM and torch", PeerPoints()},
                 {"encode", "encoding by every kind of codec", EncodePoints()}},
      .make = MakeWork,
      .check = CheckPoint,
      .small_calls = SmallCalls("with --op lookup"),
      .may_be_small = IsLookup};
  return topic;
}

}  // namespace tessera::bench
