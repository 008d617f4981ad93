#include "bench/embedding/shape_axes.h"

#include "bench/harness/criteo_rows.h"
#include "runtime/base/check.h"
#include "runtime/base/size_limits.h"

namespace tessera::bench {
namespace {

constexpr std::string_view kCriteo = "criteo:";

}  // namespace

std::vector<int64_t> ParseTableRows(const std::string& text, int64_t tables) {
  const bool criteo = text.starts_with(kCriteo);
  const std::string number = criteo ? text.substr(kCriteo.size()) : text;
  WholeFrom(1, SizeLimits::kRows)(number);
  if (criteo) return CriteoRows(ParseWhole(number));
  return std::vector<int64_t>(static_cast<size_t>(tables), ParseWhole(number));
}

PointValues CriteoValues(const std::string& cap, const std::string& dim, const std::string& batch) {
  return {{"dim", dim},     {"rows", "criteo:" + cap}, {"tables", "26"},
          {"batch", batch}, {"pooling", "1"},          {"skew", "zipf:1.05"}};
}

PoolingType ParsePooling(const std::string& mode) {
  OneOf({"sum", "mean", "none"})(mode);
  return mode == "sum"    ? PoolingType::kSum
         : mode == "mean" ? PoolingType::kMean
                          : PoolingType::kNone;
}

std::vector<Axis> ShapeAxes() {
  return {
      {"dim", {"128"}, "columns of a row", WholeFrom(1, 1 << 16)},
      {"rows",
       {"1M"},
       "rows of each table; criteo:CAP: 26 tables of Criteo's rows, at most CAP",
       [](const std::string& text) { ParseTableRows(text, 1); }},
      {"tables", {"8"}, "tables, each read by one feature", WholeFrom(1, 1 << 16)},
      {"batch", {"4096"}, "bags of each feature", WholeFrom(1, SizeLimits::kBatch)},
      {"pooling", {"20"}, kBagLengthsHelp, [](const std::string& text) { ParseBagLengths(text); }},
      {"skew", {"uniform"}, kSkewHelp, [](const std::string& text) { ParseSkew(text); }},
      {"mode", {"sum"}, "sum, mean, or none: a row for every id", OneOf({"sum", "mean", "none"})},
      {"weighted", {"no"}, "a weight for every id", YesOrNo()},
  };
}

double TableBytes(const Point& point, int64_t beside_a_row) {
  double rows = 0;
  for (const int64_t r : ParseTableRows(point.Text("rows"), point.Int("tables")))
    rows += static_cast<double>(r);
  return rows * static_cast<double>(point.Int("dim") * SizeOf(DType::kF32) + beside_a_row);
}

Shape ShapeOf(const Point& point) {
  Shape shape;
  shape.rows = ParseTableRows(point.Text("rows"), point.Int("tables"));
  shape.dim = point.Int("dim");
  shape.batch = point.Int("batch");
  shape.lengths = ParseBagLengths(point.Text("pooling"));
  shape.skew = ParseSkew(point.Text("skew"));
  shape.pooling = ParsePooling(point.Text("mode"));
  shape.weighted = point.Flag("weighted");
  TESSERA_CHECK(!shape.weighted || shape.pooling != PoolingType::kNone,
                "--weighted yes with --mode none: sequences take no weights");
  return shape;
}

}  // namespace tessera::bench
