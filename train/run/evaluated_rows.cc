#include "train/run/evaluated_rows.h"

#include <algorithm>

#include "data/files/data_identity.h"
#include "data/split/row_split.h"
#include "runtime/base/check.h"

namespace tessera {
namespace {

bool HaveSamePaths(const DataIdentity& a, const DataIdentity& b) {
  return std::ranges::equal(a.paths, b.paths, [](const PathIdentity& x, const PathIdentity& y) {
    return x.SameContent(y);
  });
}

std::string TextOf(const EvaluatedRows& rows, const DataIdentity& data, bool with_paths,
                   bool with_split) {
  std::string text = ToString(data.rows);
  for (size_t i = 0; with_paths && i < data.paths.size(); ++i)
    text += (i == 0 ? " of " : ", ") + ToString(data.paths[i]);
  if (with_split) text += rows.split.empty() ? " without a split" : Format(" ({})", rows.split);
  return text;
}

}  // namespace

bool EvaluatedRows::SameContent(const EvaluatedRows& other) const {
  const DataIdentity a = DataIdentityFromText(data), b = DataIdentityFromText(other.data);
  return split == other.split && a.rows == b.rows && HaveSamePaths(a, b);
}

EvaluatedRows EvaluatedRowsOf(const DataSets& data) {
  return {.data = ToText(data.eval_identity()),
          .split = data.split() ? ToString(*data.split()) : ""};
}

std::string NoRowsText(const DataSets& data) {
  const auto& split = data.split();
  return "there are no rows for evaluation" +
         (split ? Format(": data.split, {}, keeps none", *split) : "");
}

std::string ChangeText(const EvaluatedRows& was, const EvaluatedRows& is) {
  const DataIdentity a = DataIdentityFromText(was.data), b = DataIdentityFromText(is.data);
  const bool paths = !HaveSamePaths(a, b), split = was.split != is.split;
  return Format("evaluation rows were {}, are {}", TextOf(was, a, paths, split),
                TextOf(is, b, paths, split));
}

}  // namespace tessera
