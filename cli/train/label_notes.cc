#include "cli/train/label_notes.h"

#include <string>
#include <vector>

#include "cli/show/log.h"
#include "runtime/base/check.h"

namespace tessera::cli {
namespace {

const std::string& ColumnOf(const auto& entry) {
  return entry.from.empty() ? entry.name : entry.from;
}

}  // namespace

void SayLabelsLeft(const TrainConfig& config) {
  const std::vector<std::string> labels = LabelNames(config.data);
  if (!config.model.tasks.empty() || labels.size() < 2) return;
  std::string others;
  for (size_t i = 1; i < labels.size(); ++i) others += (i == 1 ? "" : ", ") + labels[i];
  Note(Format("only the first label, {}, is trained, by bce: \"tasks\" of \"model\" trains {}, too",
              labels.front(), others));
}

void WarnOfLabelsAmongInputs(const TrainConfig& config) {
  if (config.data.schema == nullptr) return;
  const DataSchema& schema = *config.data.schema;
  const auto warn = [&](const char* part, const auto& inputs) {
    for (const auto& input : inputs)
      for (const LabelEntry& label : schema.labels)
        if (ColumnOf(input) == ColumnOf(label))
          Warn(Format("the label {} is an input, too ({} {}): the model can read its answer there",
                      label.name, part, input.name));
  };
  warn("data.dense", schema.dense);
  warn("data.features", schema.features);
}

}  // namespace tessera::cli
