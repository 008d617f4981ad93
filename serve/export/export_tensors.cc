#include "serve/export/export_tensors.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "models/ranking_model.h"
#include "runtime/tensor.h"
#include "serve/dense_part.h"
#include "serve/export/raw_id_export.h"

namespace tessera::serve {
namespace {

constexpr int64_t kBoundary = 64;

void CheckFits(const Checkpoint& checkpoint, const std::string& name, const Tensor& tensor,
               const Tensor& stored) {
  const std::span<const float> numbers = tensor.span<float>();
  const std::span<const Half> halves = stored.span<Half>();
  for (size_t i = 0; i < numbers.size(); ++i)
    if (std::isfinite(numbers[i]) && !std::isfinite(static_cast<float>(halves[i])))
      throw Error(Format("{}: {}: {} does not fit into f16", checkpoint.path, name, numbers[i]));
}

// Throws Error for state of raw ids that no table of the model takes.
void CheckIdStates(const Checkpoint& checkpoint, const ModelSpec& spec) {
  for (const CheckpointEntry& entry : checkpoint.tensors) {
    const auto takes = [&](const TableSpec& table) {
      return table.raw_ids && entry.name.starts_with(IdPrefix(table.name) + "_");
    };
    if (IsIdState(entry.name) && std::ranges::none_of(spec.tables, takes))
      throw Error(Format("{}: it has '{}', state of raw ids, which this model does not take",
                         checkpoint.path, entry.name));
  }
}

// Throws Error if the checkpoint has more than the model: it is another model's.
void CheckIsAll(Context& ctx, const Checkpoint& checkpoint, const ModelSpec& spec,
                const std::vector<NamedParameter>& dense) {
  std::set<std::string> names;
  for (const TableSpec& table : spec.tables)
    names.insert(RankingModel::TableParameterName(table.name));
  for (const NamedParameter& parameter : dense) names.insert(parameter.name);
  Checkpoint others = checkpoint;
  std::erase_if(others.tensors, [&](const CheckpointEntry& entry) {
    return names.contains(entry.name) || IsRunState(entry.name);
  });
  Restore(ctx, others, {});  // refuses what no model takes
  CheckIdStates(checkpoint, spec);
}

}  // namespace

void AddPadded(StreamedSafetensors& content, const std::string& name, StreamedTensor tensor) {
  const int64_t bytes = tensor.shape.numel() * SizeOf(tensor.dtype);
  tensor.padding = (kBoundary - bytes % kBoundary) % kBoundary;
  if (!content.tensors.emplace(name, std::move(tensor)).second)
    throw Error(Format("tensor '{}' is there twice: tables need other names", name));
}

void AddDensePart(Context& ctx, const Checkpoint& checkpoint, const ModelSpec& spec,
                  StreamedSafetensors& content) {
  const std::vector<NamedParameter> parameters = DensePart(ctx, spec).Parameters();
  CheckIsAll(ctx, checkpoint, spec, parameters);
  for (const NamedParameter& parameter : parameters) {
    const CheckpointEntry& entry = FindEntry(checkpoint, parameter.name);
    const Shape& expected = parameter.variable.shape();
    if (entry.tensor.shape != expected || entry.tensor.dtype != DType::kF32)
      throw Error(Format("{}: {}: expected f32 {}, got {} {}", checkpoint.path, parameter.name,
                         expected, entry.tensor.dtype, entry.tensor.shape));
    const Tensor tensor = checkpoint.Read(ctx, entry);
    const Tensor stored = tensor.To(ctx, spec.dense_type);
    if (spec.dense_type == DType::kF16) CheckFits(checkpoint, parameter.name, tensor, stored);
    AddPadded(content, parameter.name, Streamed(ctx, stored));
  }
}

void WriteModelFile(const std::string& path, const StreamedSafetensors& content) {
  const SafetensorsChecksum checksum = CheckpointChecksum();
  WriteSafetensors(path, content, &checksum);
}

}  // namespace tessera::serve
