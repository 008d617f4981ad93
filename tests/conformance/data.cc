// Kind `data`: rows of one's own files, from their bytes and a schema to the tensors of a batch.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <numeric>

#include "data/files/multi_hot_rows.h"
#include "data/rows/text_row_source.h"
#include "tests/conformance/kinds.h"

namespace tessera::conformance {
namespace {

namespace fs = std::filesystem;

// A folder that goes with it.
class Folder {
 public:
  Folder() {
    std::string name = (fs::temp_directory_path() / "conformance-XXXXXX").string();
    TESSERA_CHECK(mkdtemp(name.data()) != nullptr, "no folder for the files of a case");
    path_ = name;
  }
  ~Folder() { fs::remove_all(path_); }

  std::string Write(const std::string& name, const Tensor& bytes) const {
    const std::string path = (path_ / name).string();
    std::ofstream file(path, std::ios::binary);
    file.write(static_cast<const char*>(bytes.raw_data()), bytes.numel());
    return path;
  }

 private:
  fs::path path_;
};

std::vector<CategoricalFeature> FeaturesOf(const Case& c) {
  std::vector<CategoricalFeature> features;
  for (const Json& feature : c.attrs.at("features")) {
    const auto rows = feature.at(1).get<int64_t>();
    features.push_back({feature.at(0).get<std::string>(), rows, rows == 0});
  }
  return features;
}

AllRows ReadDays(Context& ctx, const std::vector<std::string>& paths, const DataSchema& schema,
                 const std::vector<CategoricalFeature>& features) {
  const StoredBags rows = MapMultiHotDays(MultiHotDays(paths), schema, features);
  std::vector<int64_t> all(static_cast<size_t>(rows.rows()));
  std::iota(all.begin(), all.end(), 0);
  return {rows.Gather(ctx, all)};
}

AllRows ReadCase(Context& ctx, const Case& c, const Folder& folder) {
  std::vector<std::string> paths;
  const Json& files = c.attrs.at("files");
  for (size_t i = 0; i < files.size(); ++i)
    paths.push_back(
        folder.Write(files[i].get<std::string>(), c.input(Format("file.{}", i)).ToHost()));
  const DataSchema schema = ParseDataSchema(c.attrs.at("schema").dump());
  const std::vector<CategoricalFeature> features = FeaturesOf(c);
  if (!schema.is_text()) return ReadDays(ctx, paths, schema, features);
  return ReadAllRows(ctx, std::make_shared<const RowRules>(schema, features),
                     {.paths = paths,
                      .skip_bad_lines = c.attrs.at("skip_bad_lines").get<bool>(),
                      .threads = ctx.threads().threads(),
                      .piece_bytes = 32});  // so that all threads have some
}

// An error must contain what the case mentions.
void CheckMentions(const Case& c, const Error& error) {
  const std::string text = error.what();
  for (const Json& mention : c.attrs.value("mentions", Json::array()))
    if (text.find(mention.get<std::string>()) == text.npos)
      throw std::runtime_error(
          Format("the error does not mention \"{}\": {}", mention.get<std::string>(), text));
}

Tensor AsTable(const Tensor& labels, int64_t rows) {
  if (!labels) return Tensor::EmptyHost({rows, 0}, DType::kF32);
  return labels.Reshape({rows, labels.rank() == 1 ? 1 : labels.dim(1)});
}

}  // namespace

Answer RunData(Context&, const Case& c) {
  Context host({.threads = 2});
  const Folder folder;
  try {
    const AllRows rows = ReadCase(host, c, folder);
    const Batch& batch = rows.batch;
    Answer answer;
    answer.tensors["values"] = batch.features.values().To(host, DType::kI64);
    answer.tensors["lengths"] = batch.features.lengths(host);
    answer.tensors["dense"] = batch.dense;
    answer.tensors["labels"] = AsTable(batch.labels, batch.dense.dim(0));
    if (batch.features.is_weighted()) answer.tensors["weights"] = batch.features.weights().value();
    if (batch.weights) answer.tensors["weight"] = batch.weights;
    if (batch.time) answer.tensors["time"] = batch.time;
    if (c.out.contains("skipped"))
      answer.tensors["skipped"] = Tensor::From(host, {1}, std::vector<int64_t>{rows.skipped});
    return answer;
  } catch (const Error& error) {
    CheckMentions(c, error);
    throw;
  }
}

}  // namespace tessera::conformance
