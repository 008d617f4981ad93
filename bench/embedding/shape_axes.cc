#include "bench/embedding/shape_axes.h"

#include <map>
#include <memory>

#include "bench/harness/criteo_rows.h"
#include "bench/harness/machine_axes.h"
#include "bench/inputs/table_file.h"
#include "runtime/base/check.h"
#include "runtime/base/size_limits.h"

namespace tessera::bench {
namespace {

constexpr std::string_view kCriteo = "criteo:";
constexpr char kTables[] = "8", kCriteoTables[] = "26";

Axis TypeAxis(const std::string& of) {
  return {of + "-type",
          {"f32"},
          "type of " + of + "s: f32, f16 or bf16",
          OneOf({"f32", "f16", "bf16"})};
}

void CheckRows(const std::string& text) {
  const bool criteo = text.starts_with(kCriteo);
  WholeFrom(1, SizeLimits::kRows)(criteo ? text.substr(kCriteo.size()) : text);
}

// "1M": as many tables of a million rows; "criteo:1M": Criteo's.
std::vector<int64_t> RowsOf(const Point& point) {
  const std::string &rows = point.Text("rows"), &tables = point.Text("tables");
  if (!rows.starts_with(kCriteo))
    return std::vector<int64_t>(static_cast<size_t>(point.Int("tables")), ParseWhole(rows));
  TESSERA_CHECK(tables == kTables || tables == kCriteoTables,
                "--tables {} with --rows {}: Criteo has {} tables", tables, rows, kCriteoTables);
  return CriteoRows(ParseWhole(rows.substr(kCriteo.size())));
}

// The tables of a file take the place of rows and dim, and those that say so of pooling and skew.
void TakeTables(const Point& point, Shape& shape) {
  shape.rows.clear();
  for (FileTable& table : ReadTableFile(point.Text("tables"))) {
    TESSERA_CHECK(!shape.ids || !table.skew, "--tables {} has a skew, and --ids {} says which ids",
                  point.Text("tables"), point.Text("ids"));
    TESSERA_CHECK(!shape.ids || !table.lengths || shape.ids->tables[0].offsets.empty(),
                  "--tables {} has pooling, and --ids {} has bags", point.Text("tables"),
                  point.Text("ids"));
    shape.rows.push_back(table.rows);
    shape.own.push_back({table.dim,
                         table.lengths ? *table.lengths : ParseBagLengths(point.Text("pooling")),
                         table.skew ? *table.skew : ParseSkew(point.Text("skew"))});
  }
}

// f32 where the topic has no such axis.
DType TypeOf(const Point& point, const std::string& axis) {
  return point.Has(axis) ? ParseDType(point.Text(axis)) : DType::kF32;
}

}  // namespace

PointValues CriteoValues(const std::string& cap, const std::string& dim, const std::string& batch) {
  return {{"dim", dim},     {"rows", "criteo:" + cap}, {"tables", kCriteoTables},
          {"batch", batch}, {"pooling", "1"},          {"skew", "zipf:1.05"}};
}

std::string SmallCalls(const std::string& which) {
  return Format("calls of at most {} ids {}", kSmallCall, which);
}

PoolingType ParsePooling(const std::string& mode) {
  OneOf({"sum", "mean", "none"})(mode);
  return mode == "sum"    ? PoolingType::kSum
         : mode == "mean" ? PoolingType::kMean
                          : PoolingType::kNone;
}

// Ids of a file, read once for all points that name it.
std::shared_ptr<const IdFile> FileOf(const std::string& ids) {
  static std::map<std::string, std::shared_ptr<const IdFile>> files;
  std::shared_ptr<const IdFile>& file = files[ids];
  if (!file) file = std::make_shared<IdFile>(ReadIdFile(ids));
  return file;
}

// Ids of a file take the place of drawn ones: flags that say how to draw are errors beside them.
void TakeIds(const Point& point, Shape& shape) {
  if (!point.Has("ids") || point.Text("ids") == "drawn") {
    TESSERA_CHECK(!point.Has("remap") || point.Text("remap") == "none",
                  "--remap {} with --ids drawn: ids that are made up name rows",
                  point.Text("remap"));
    return;
  }
  const std::string& ids = point.Text("ids");
  shape.ids = FileOf(ids);
  shape.remap = ParseRemap(point.Text("remap"));
  TESSERA_CHECK(point.Text("skew") == "uniform", "--skew {} with --ids {}: the file says which ids",
                point.Text("skew"), ids);
  TESSERA_CHECK(shape.ids->tables[0].offsets.empty() || point.Text("pooling") == "20",
                "--pooling {} with --ids {}: bags are as long as in the file",
                point.Text("pooling"), ids);
}

std::vector<Axis> ShapeAxes(ShapeTypes types, bool files) {
  std::vector<Axis> axes = {
      {"dim", {"128"}, "columns of a row", WholeFrom(1, kMaxDim)},
      {"rows",
       {"1M"},
       "rows of each table; criteo:CAP: 26 tables of Criteo's rows, at most CAP",
       CheckRows},
      {"tables",
       {kTables},
       Format("tables, each read by one feature{}",
              files ? Format(": N | {}", kTableFileHelp) : ""),
       [files](const std::string& text) {
         if (!files || !NamesTableFile(text)) return WholeFrom(1, 1 << 16)(text);
         ReadTableFile(text);
       }},
      {"batch", {"4096"}, "bags of each feature", WholeFrom(1, SizeLimits::kBatch)},
      {"pooling", {"20"}, kBagLengthsHelp, [](const std::string& text) { ParseBagLengths(text); }},
      {"skew", {"uniform"}, kSkewHelp, [](const std::string& text) { ParseSkew(text); }},
      {"mode", {"sum"}, "sum, mean, or none: a row for every id", OneOf({"sum", "mean", "none"})},
      {"weighted", {"no"}, "a weight for every id", YesOrNo()},
  };
  if (files) {
    axes.push_back({"ids",
                    {"drawn"},
                    Format("drawn (by --skew) | {}", kIdFileHelp),
                    [](const std::string& text) {
                      if (text != "drawn") CheckIdFile(text);
                    }});
    axes.push_back({"remap",
                    {"none"},
                    "ids of a file that name no row: none: an error; dense: numbered by first use; "
                    "hash: hashed to a row",
                    [](const std::string& text) { ParseRemap(text); }});
  }
  if (types.rows) axes.push_back(TypeAxis("row"));
  if (types.outputs) axes.push_back(TypeAxis("output"));
  if (types.states) axes.push_back(TypeAxis("state"));
  for (Axis& axis : MachineAxes()) axes.push_back(std::move(axis));
  return axes;
}

double TableBytes(const Point& point, const std::function<int64_t(int64_t dim)>& beside_a_row) {
  const Shape shape = ShapeOf(point);
  double bytes = 0;
  for (size_t t = 0; t < shape.rows.size(); ++t) {
    const int64_t dim = shape.DimOf(t);
    bytes +=
        static_cast<double>(shape.rows[t]) *
        static_cast<double>(dim * SizeOf(shape.row_type) + (beside_a_row ? beside_a_row(dim) : 0));
  }
  return bytes;
}

Shape ShapeOf(const Point& point) {
  Shape shape;
  shape.batch = point.Int("batch");
  shape.pooling = ParsePooling(point.Text("mode"));
  shape.weighted = point.Flag("weighted");
  shape.row_type = TypeOf(point, "row-type");
  shape.output_type = TypeOf(point, "output-type");
  TakeIds(point, shape);
  if (NamesTableFile(point.Text("tables"))) {
    TakeTables(point, shape);
  } else {
    shape.rows = RowsOf(point);
    shape.dim = point.Int("dim");
    shape.lengths = ParseBagLengths(point.Text("pooling"));
    shape.skew = ParseSkew(point.Text("skew"));
  }
  TESSERA_CHECK(!shape.weighted || shape.pooling != PoolingType::kNone,
                "--weighted yes with --mode none: sequences take no weights");
  return shape;
}

}  // namespace tessera::bench
