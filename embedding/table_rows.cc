#include "embedding/table_rows.h"

#include <span>

#include "embedding/storage/disk_table.h"
#include "embedding/storage/rows_on_use.h"
#include "embedding/table/table_batch.h"
#include "embedding/table_caches.h"
#include "optim/state_dict.h"
#include "sparse/ops/row_runs.h"

namespace tessera {
namespace {

using internal::EmbeddingTable;

std::shared_ptr<const RowsElsewhere> PartOnDisk(const std::shared_ptr<DiskTable>& disk, int part) {
  return std::make_shared<const RowsElsewhere>(RowsElsewhere{
      .read = [disk, part](std::span<const int64_t> rows,
                           void* bytes) { disk->ReadPart(part, rows, bytes); },
      .write = [disk, part](std::span<const int64_t> rows,
                            const void* bytes) { disk->WritePart(part, rows, bytes); }});
}

std::shared_ptr<const RowsElsewhere> PartOnUse(const std::shared_ptr<RowsOnUse>& on_use, int part) {
  return std::make_shared<const RowsElsewhere>(RowsElsewhere{
      .read = [on_use, part](std::span<const int64_t> rows,
                             void* bytes) { on_use->Read(part, rows, bytes); },
      .write = [on_use, part](std::span<const int64_t> rows,
                              const void* bytes) { on_use->Write(part, rows, bytes); }});
}

NamedTensor Stored(const EmbeddingTable& table, int part, NamedTensor named) {
  if (table.disk) named.stored = PartOnDisk(table.disk, part);
  if (!table.on_use) return named;
  named.tensor = Tensor::Borrow(nullptr, named.tensor.shape(), named.tensor.dtype());
  named.stored = PartOnUse(table.on_use, part);
  return named;
}

// Throws Error for an id, [n], i64, that is no row of the part.
void CheckRows(const Tensor& ids, const NamedTensor& part) {
  const int64_t rows = part.tensor.dim(0);
  for (const int64_t id : ids.ToVector<int64_t>())
    TESSERA_CHECK(id >= 0 && id < rows, "{}: row {} of {}", part.name, id, rows);
}

}  // namespace

int TableRows::num_parts(int index) const {
  return 1 + static_cast<int>(state_->at(index).states.size());
}

NamedTensor TableRows::part(int index, int part) const {
  EmbeddingTable& table = state_->at(index);
  if (part < 0 || part >= num_parts(index))
    throw Error(Format("table {}: rows().part: expected a part of 0 to {}, got {}",
                       table.config.name, num_parts(index) - 1, part));
  table.SettleSync();
  if (part == 0) return Stored(table, 0, {"weight", table.weight});
  return Stored(table, part, table.states[static_cast<size_t>(part - 1)]);
}

std::optional<StartedRows> TableRows::started(int index) const {
  const EmbeddingTable& table = state_->at(index);
  if (!table.on_use) return {};
  return table.on_use->Started();
}

std::vector<NamedTensor> TableRows::weights(const std::string& prefix) const {
  std::vector<NamedTensor> weights;
  for (int t = 0; t < std::ssize(state_->tables); ++t) {
    weights.push_back(part(t, 0));
    weights.back().name = internal::PrefixedKey(prefix, state_->at(t).config.name + ".weight");
  }
  return weights;
}

Tensor TableRows::Take(Context& ctx, int index, int part, const Tensor& ids) const {
  if (const TableCaches caches(state_); caches.holds_updates(index)) caches.Flush(ctx);
  const NamedTensor whole = this->part(index, part);
  if (ids.device() == Device::Cpu()) CheckRows(ids.To(ctx, DType::kI64), whole);
  if (!whole.stored) return TakeRows(ctx, whole.tensor, ids);
  const auto rows = ids.To(ctx, DType::kI64).To(ctx, Device::Cpu()).ToVector<int64_t>();
  Shape shape = whole.tensor.shape();
  shape[0] = std::ssize(rows);
  const Tensor taken = Tensor::EmptyHost(shape, whole.tensor.dtype());
  whole.stored->read(rows, taken.raw_data());
  return taken.To(ctx, ctx.device());
}

void TableRows::Reset(Context& ctx, int index, const Tensor& ids, ResetTo to) const {
  EmbeddingTable& table = state_->at(index);
  state_->CheckForwardIsStep(Format("table {}: rows().Reset", table.config.name));
  table.ResetRows(ctx, ids, to == ResetTo::kInitial);
}

int64_t TableRows::in_use(int index) const {
  EmbeddingTable& table = state_->at(index);
  table.SettleSync();
  return table.weight.dim(0);
}
bool TableRows::StartRows(Context& ctx, int index, const RowsToStart& rows) const {
  EmbeddingTable& table = state_->at(index);
  state_->CheckForwardIsStep(Format("table {}: rows().StartRows", table.config.name));
  return table.StartRows(ctx, rows);
}
void TableRows::SetInUse(Context& ctx, int index, int64_t rows) const {
  state_->at(index).SetRowsInUse(ctx, rows);
}

std::shared_ptr<TouchedRows> TableRows::Track(Context& ctx, int index) const {
  EmbeddingTable& table = state_->at(index);
  table.SettleSync();
  if (!table.touched) table.touched = std::make_shared<TouchedRows>(ctx, table.weight.dim(0));
  return table.touched;
}

void TableRows::TouchAll() const {
  for (const EmbeddingTable& table : state_->tables)
    if (table.touched) table.touched->TouchAll();
}

}  // namespace tessera
