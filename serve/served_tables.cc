#include "serve/served_tables.h"

#include <cstring>

namespace tessera::serve {
namespace {

void ApplyRows(const TableDelta& delta, const Tensor& rows) {
  const int64_t row_bytes = rows.dim(1);
  auto* const to = static_cast<char*>(rows.raw_data());
  const auto* from = static_cast<const char*>(delta.bytes.raw_data());
  for (const int64_t row : delta.numbers.span<int64_t>()) {
    std::memcpy(to + row * row_bytes, from, static_cast<size_t>(row_bytes));
    from += row_bytes;
  }
}

void ApplyIds(const TableDelta& delta, RawIdMap& ids) {
  for (const int64_t id : delta.removed_ids.span<int64_t>()) ids.Remove(id);
  const auto set = delta.set_ids.span<int64_t>();
  for (size_t i = 0; i < set.size(); i += 2) ids.Set(set[i], set[i + 1]);
}

RawIdMap ReadIds(const MappedTensors& weights, const TableSpec& table) {
  const int64_t slots = RawIdMap::SlotsFor(table.rows);
  return RawIdMap(weights.Writable(IdsName(table), DType::kI64, {slots, 2}, slots), table.rows,
                  Format("{}: tensor '{}'", weights.path(), IdsName(table)));
}

}  // namespace

std::shared_ptr<ServedTables> ServedTables::Map(const MappedTensors& weights,
                                                const ModelSpec& spec) {
  return std::shared_ptr<ServedTables>(new ServedTables(weights, spec));
}

ServedTables::ServedTables(const MappedTensors& weights, const ModelSpec& spec) : spec_(spec) {
  for (const TableSpec& table : spec.tables) {
    rows_.push_back(weights.Writable(RowsName(table), DType::kU8,
                                     {table.stored_rows(), RowBytes(table.codec, table.dim)},
                                     table.most_stored_rows()));
    ids_.emplace_back();
    if (table.raw_ids) ids_.back() = ReadIds(weights, table);
  }
}

Tensor ServedTables::Rows(size_t table) const {
  return rows_[table].Rows(0, spec_.tables[table].stored_rows());
}

void ServedTables::Apply(const ModelDelta& delta) {
  TESSERA_CHECK_EQ(delta.spec().version, version() + 1, "served tables: the delta's version");
  spec_ = delta.spec();
  for (size_t t = 0; t < rows_.size(); ++t) {
    ApplyRows(delta.tables()[t], rows_[t]);
    if (ids_[t]) ApplyIds(delta.tables()[t], *ids_[t]);
  }
}

std::shared_ptr<const ServedTables> ServedTables::Lease() {
  const std::lock_guard lock(mutex_);
  TESSERA_CHECK(!leased_, "served tables: version {} is read already", version());
  leased_ = true;
  return {this, [self = shared_from_this()](const ServedTables*) {
            const std::lock_guard lock(self->mutex_);
            self->leased_ = false;
            self->freed_.notify_all();
          }};
}

bool ServedTables::WaitUntilFree(std::chrono::milliseconds most) {
  std::unique_lock lock(mutex_);
  return freed_.wait_for(lock, most, [this] { return !leased_; });
}

}  // namespace tessera::serve
