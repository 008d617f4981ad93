#include "bench/embedding/shape_axes.h"

#include <map>
#include <memory>

#include "bench/harness/criteo_rows.h"
#include "bench/harness/machine_axes.h"
#include "runtime/base/check.h"
#include "runtime/base/size_limits.h"

namespace tessera::bench {
namespace {

constexpr std::string_view kCriteo = "criteo:";

Axis TypeAxis(const std::string& of) {
  return {of + "-type",
          {"f32"},
          "type of " + of + "s: f32, f16 or bf16",
          OneOf({"f32", "f16", "bf16"})};
}

// f32 where the topic has no such axis.
DType TypeOf(const Point& point, const std::string& axis) {
  return point.Has(axis) ? ParseDType(point.Text(axis)) : DType::kF32;
}

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

double TableBytes(const Point& point, int64_t beside_a_row) {
  double rows = 0;
  for (const int64_t r : ParseTableRows(point.Text("rows"), point.Int("tables")))
    rows += static_cast<double>(r);
  return rows *
         static_cast<double>(point.Int("dim") * SizeOf(TypeOf(point, "row-type")) + beside_a_row);
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
  shape.row_type = TypeOf(point, "row-type");
  shape.output_type = TypeOf(point, "output-type");
  shape.state_type = TypeOf(point, "state-type");
  TakeIds(point, shape);
  TESSERA_CHECK(!shape.weighted || shape.pooling != PoolingType::kNone,
                "--weighted yes with --mode none: sequences take no weights");
  return shape;
}

}  // namespace tessera::bench
