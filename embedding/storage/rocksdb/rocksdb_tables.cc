#include "embedding/storage/rocksdb/rocksdb_tables.h"

#include <cstring>
#include <map>
#include <utility>

#include "embedding/storage/copy_rows.h"
#include "embedding/table/new_row_init.h"
#include "runtime/base/hash.h"
#include "sparse/ids/unique.h"
#include "sparse/ops/row_runs.h"

namespace tessera {
namespace {

using internal::RowBytes;

// The key of the tables' counters: no table has an empty name.
constexpr std::string_view kCounters = "";

// The table's weights, then its states.
std::vector<Tensor> PartsOf(const TableBatchedEmbedding& tables, int table) {
  std::vector<Tensor> parts = {tables.weight(table)};
  for (const OptimizerState& state : tables.optimizer_states(table)) parts.push_back(state.tensor);
  return parts;
}

int64_t RecordBytes(const std::vector<Tensor>& parts) {
  int64_t bytes = 0;
  for (const Tensor& part : parts) bytes += RowBytes(part);
  return bytes;
}

bool LooksAtWholeTables(const AnyRule& rule) {
  return std::holds_alternative<EnsembleRowwiseAdagrad>(rule) ||
         std::holds_alternative<EmaInPlaceRowwiseAdagrad>(rule) ||
         std::holds_alternative<GlobalDecayRowwiseAdagrad>(rule) ||
         std::holds_alternative<CounterRowwiseAdagrad>(rule) ||
         std::holds_alternative<Dense>(rule) || std::holds_alternative<None>(rule);
}

void CheckTable(const BaseEmbeddingConfig& config) {
  TESSERA_CHECK(!config.name.empty() && config.name.find('\0') == std::string::npos,
                "table \"{}\" in RocksDB: a name without 0 bytes is needed", config.name);
  TESSERA_CHECK(!IsCached(config.location) && !config.growing,
                "table {} in RocksDB: it may neither have a cache of rows nor grow", config.name);
  TESSERA_CHECK(config.index_remap == nullptr, "table {} in RocksDB: it is pruned", config.name);
  TESSERA_CHECK(!config.stochastic_rounding,
                "table {} in RocksDB: rounding by chance goes by a row's place, which changes",
                config.name);
  TESSERA_CHECK(!LooksAtWholeTables(config.optimizer),
                "table {} in RocksDB: rule {} needs all rows in memory", config.name,
                RuleName(config.optimizer));
}

void CheckReadOnce(const TableBatchedEmbedding& tables) {
  std::map<std::string, int> readers;
  for (const EmbeddingFeature& feature : tables.features()) {
    const auto [reader, first] = readers.emplace(feature.key, feature.table);
    TESSERA_CHECK(first || reader->second == feature.table,
                  "feature {} is read by the tables {} and {}, and its ids can become the rows of "
                  "one only",
                  feature.key, tables.table_name(reader->second), tables.table_name(feature.table));
  }
}

// A place of `values` for each key of a table, in order.
struct Range {
  int64_t begin, end;
};
std::vector<Range> MakeRanges(const TableBatchedEmbedding& tables, int table,
                              const KeyedJaggedTensor& kjt) {
  const std::vector<int64_t>& offsets = kjt.offset_per_key();
  std::map<int64_t, Range> ranges;
  for (const EmbeddingFeature& feature : tables.features())
    if (feature.table == table) {
      const int64_t key = kjt.IndexOf(feature.key);
      const auto k = static_cast<size_t>(key);
      ranges[key] = {offsets[k], offsets[k + 1]};
    }
  std::vector<Range> out;
  for (const auto& [key, range] : ranges) out.push_back(range);
  return out;
}

// The ids of the ranges, joined; i64.
Tensor JoinedIds(Context& ctx, const Tensor& values, const std::vector<Range>& ranges) {
  int64_t n = 0;
  for (const Range& r : ranges) n += r.end - r.begin;
  const Tensor ids = Tensor::Empty(ctx, {n}, values.dtype());
  int64_t at = 0;
  for (const Range& r : ranges) {
    ids.Rows(at, at + r.end - r.begin).CopyFrom(ctx, values.Rows(r.begin, r.end));
    at += r.end - r.begin;
  }
  return ids.To(ctx, DType::kI64);
}

// The distinct ids of a table's features; where these lie, `values` gets their numbers.
std::vector<int64_t> NumberIds(Context& ctx, const TableBatchedEmbedding& tables, int table,
                               const KeyedJaggedTensor& features, const Tensor& values) {
  const std::vector<Range> ranges = MakeRanges(tables, table, features);
  const UniqueIds unique = Unique(ctx, JoinedIds(ctx, features.values(), ranges), /*counts=*/false);
  const int64_t n = unique.values.numel(), room = tables.table(table).num_embeddings;
  TESSERA_CHECK(n <= room,
                "table {} in RocksDB: the batch names {} distinct ids; num_embeddings makes room "
                "for {}",
                tables.table_name(table), n, room);
  int64_t at = 0;
  for (const Range& r : ranges) {
    const int64_t end = at + r.end - r.begin;
    values.Rows(r.begin, r.end).CopyFrom(ctx, unique.inverse.Rows(at, end));
    at = end;
  }
  return unique.values.ToVector<int64_t>();
}

// Writes n records to the first n rows of the parts.
void SetRows(Context& ctx, const std::vector<Tensor>& parts, const std::vector<char>& records,
             int64_t n) {
  const char* from = records.data();
  for (const Tensor& part : parts) {
    const Tensor place = part.Rows(0, n), host = Tensor::EmptyHost(place.shape(), part.dtype());
    internal::CopyRows(static_cast<char*>(host.raw_data()), RowBytes(part), from,
                       RecordBytes(parts), n, RowBytes(part));
    place.CopyFrom(ctx, host);
    from += RowBytes(part);
  }
}

// Makes records of the first n rows of the parts.
std::vector<char> MakeRecords(Context& ctx, const std::vector<Tensor>& parts, int64_t n) {
  if (n == 0) return {};
  std::vector<char> records(static_cast<size_t>(n * RecordBytes(parts)));
  char* to = records.data();
  for (const Tensor& part : parts) {
    const Tensor host = part.Rows(0, n).To(ctx, Device::Cpu());
    internal::CopyRows(to, RecordBytes(parts), static_cast<const char*>(host.raw_data()),
                       RowBytes(part), n, RowBytes(part));
    to += RowBytes(part);
  }
  return records;
}

// A record's parts, as tensors of one row.
std::vector<Tensor> PartsOfRecord(const std::vector<Tensor>& parts, std::string_view record) {
  std::vector<Tensor> row;
  const char* from = record.data();
  for (const Tensor& part : parts) {
    row.push_back(Tensor::EmptyHost(internal::WithRows(part, 1), part.dtype()));
    std::memcpy(row.back().raw_data(), from, static_cast<size_t>(RowBytes(part)));
    from += RowBytes(part);
  }
  return row;
}

void CheckRecord(const TableBatchedEmbedding& tables, int table, int64_t id, int64_t expected,
                 std::string_view record) {
  TESSERA_CHECK_EQ(static_cast<int64_t>(record.size()), expected,
                   "table {} in RocksDB: bytes of the row of id {} (was it made with another dim, "
                   "type or rule?)",
                   tables.table_name(table), id);
}

int64_t CounterKey(const std::string& table) {
  return static_cast<int64_t>(internal::HashOf(table));
}

}  // namespace

RocksDbTables::RocksDbTables(TableBatchedEmbedding& tables, std::shared_ptr<RocksDbStore> store,
                             uint64_t seed)
    : store_(std::move(store)), seed_(seed), host_({.threads = 1}) {
  TESSERA_CHECK(store_ != nullptr, "tables in RocksDB: a store is needed");
  CheckReadOnce(tables);
  dirty_.resize(static_cast<size_t>(tables.num_tables()));
  std::vector<std::pair<int, int64_t>> counters;
  for (int t = 0; t < tables.num_tables(); ++t) {
    CheckTable(tables.table(t));
    const int64_t key = CounterKey(tables.table_name(t));
    store_->Read(kCounters, std::span(&key, 1), [&](size_t, std::string_view record) {
      int64_t iter = 0;
      TESSERA_CHECK_EQ(record.size(), sizeof iter, "table {} in RocksDB: bytes of its counter",
                       tables.table_name(t));
      std::memcpy(&iter, record.data(), sizeof iter);
      counters.emplace_back(t, iter);
    });
  }
  for (const auto& [t, iter] : counters) tables.set_iter(t, iter);
}

void RocksDbTables::Start(const TableBatchedEmbedding& tables, int table, int64_t id,
                          char* record) {
  BaseEmbeddingConfig config = tables.table(table);
  config.place.first_row = id;
  const Tensor row = Tensor::Empty(host_, {1, config.embedding_dim}, config.data_type);
  internal::InitNewRows(host_, config, row, {.ids = {}, .begin = 0, .end = 1},
                        seed_ ^ internal::HashOf(config.name), 0);
  std::memcpy(record, row.raw_data(), static_cast<size_t>(row.nbytes()));
}

RocksDbTables::Rows RocksDbTables::Read(const TableBatchedEmbedding& tables, int table,
                                        std::vector<int64_t> ids) {
  const int64_t bytes = RecordBytes(PartsOf(tables, table));
  Rows rows{std::move(ids), {}};
  rows.records.resize(rows.ids.size() * static_cast<size_t>(bytes));
  std::vector<bool> there(rows.ids.size());
  const auto place = [&](size_t i) { return rows.records.data() + i * static_cast<size_t>(bytes); };
  store_->Read(tables.table_name(table), rows.ids, [&](size_t i, std::string_view record) {
    CheckRecord(tables, table, rows.ids[i], bytes, record);
    std::memcpy(place(i), record.data(), record.size());
    there[i] = true;
  });
  for (size_t i = 0; i < rows.ids.size(); ++i)
    if (!there[i]) Start(tables, table, rows.ids[i], place(i));
  return rows;
}

KeyedJaggedTensor RocksDbTables::Load(Context& ctx, TableBatchedEmbedding& tables,
                                      const KeyedJaggedTensor& features, bool training) {
  WriteBack(ctx, tables);
  const Tensor& raw = features.values();
  const Tensor values = raw.dtype() == DType::kI64 ? raw.Clone(ctx) : raw.To(ctx, DType::kI64);
  std::vector<Rows> loaded;
  for (int t = 0; t < tables.num_tables(); ++t)
    loaded.push_back(Read(tables, t, NumberIds(ctx, tables, t, features, values)));
  // Nothing fails from here on.
  for (int t = 0; t < tables.num_tables(); ++t) {
    Rows& rows = loaded[static_cast<size_t>(t)];
    SetRows(ctx, PartsOf(tables, t), rows.records, static_cast<int64_t>(rows.ids.size()));
    if (training) dirty_[static_cast<size_t>(t)] = std::move(rows.ids);
  }
  trained_ = trained_ || training;
  return features.WithValues(values);
}

void RocksDbTables::WriteBack(Context& ctx, TableBatchedEmbedding& tables) {
  tables.caches().Flush(ctx);  // refuses to come before the backward
  if (!trained_) return;
  RocksDbStore::Batch batch;
  for (int t = 0; t < tables.num_tables(); ++t) {
    const std::vector<int64_t>& ids = dirty_[static_cast<size_t>(t)];
    const std::string& name = tables.table_name(t);
    const std::vector<Tensor> parts = PartsOf(tables, t);
    const std::vector<char> records = MakeRecords(ctx, parts, std::ssize(ids));
    const auto bytes = static_cast<size_t>(RecordBytes(parts));
    for (size_t i = 0; i < ids.size(); ++i)
      batch.Put(name, ids[i], {records.data() + i * bytes, bytes});
    const int64_t iter = tables.iter(t);
    batch.Put(kCounters, CounterKey(name), {reinterpret_cast<const char*>(&iter), sizeof iter});
  }
  store_->Write(std::move(batch));
  for (std::vector<int64_t>& ids : dirty_) ids.clear();
  trained_ = false;
}

void RocksDbTables::ForEachRow(
    const TableBatchedEmbedding& tables, int table,
    const std::function<void(int64_t, const std::vector<Tensor>&)>& fn) const {
  const std::vector<Tensor> parts = PartsOf(tables, table);
  store_->ForEach(tables.table_name(table), [&](int64_t id, std::string_view record) {
    CheckRecord(tables, table, id, RecordBytes(parts), record);
    fn(id, PartsOfRecord(parts, record));
  });
}

}  // namespace tessera
