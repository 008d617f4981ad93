#include "train/run/measure_tables.h"

#include "sparse/ops/row_runs.h"

namespace tessera {
namespace {

int64_t CacheBytes(const TableBatchedEmbedding& tables, int t) {
  int64_t bytes = 0;
  for (int p = 0; p < tables.rows().num_parts(t); ++p)
    bytes += internal::RowBytes(tables.rows().part(t, p).tensor);
  return bytes * tables.caches().lines(t);
}

}  // namespace

std::vector<RawIdsReport> RawIdsMeter::ReportSync() const {
  std::vector<RawIdsReport> reports = CountSync();
  for (size_t t = 0; t < reports.size(); ++t) {
    reports[t].evicted -= start_[t].evicted;
    reports[t].admitted = reports[t].ids - start_[t].ids + reports[t].evicted;
  }
  return reports;
}

std::vector<RawIdsReport> RawIdsMeter::CountSync() const {
  const ManagedTableConfigs& managed = trainer_.config().managed_collision;
  std::vector<RawIdsReport> counts;
  for (const EmbeddingBagConfig& table : trainer_.config().tables)
    if (const auto found = managed.find(table.name); found != managed.end())
      counts.push_back({.table = table.name,
                        .kind = KindOf(found->second.module),
                        .rows = table.num_embeddings});
  for (const auto& [table, module] : trainer_.model().managed_modules())
    for (RawIdsReport& count : counts)
      if (count.table == table) {
        count.ids = module->NumIdsSync(trainer_.context());
        count.evicted = module->num_evicted();
      }
  if (trainer_.comm() != nullptr && !counts.empty()) AddUpSync(counts);
  return counts;
}

void RawIdsMeter::AddUpSync(std::vector<RawIdsReport>& counts) const {
  std::vector<int64_t> numbers;
  for (const RawIdsReport& count : counts)
    numbers.insert(numbers.end(), {count.ids, count.evicted});
  numbers = SumOverRanksSync(trainer_.context(), *trainer_.comm(), numbers);
  for (size_t t = 0; t < counts.size(); ++t) {
    counts[t].ids = numbers[2 * t];
    counts[t].evicted = numbers[2 * t + 1];
  }
}

std::optional<DiskReport> DiskReportSync(Trainer& trainer) {
  if (trainer.comm() != nullptr) return {};
  const TableBatchedEmbedding& tables = trainer.model().embedding_bag_collection().tables();
  DiskReport report;
  for (int t = 0; t < tables.num_tables(); ++t) {
    if (tables.table(t).location != EmbeddingLocation::kDisk) continue;
    const DiskStats disk = tables.caches().disk_stats(t);
    const CacheStats cache = tables.caches().StatsSync(trainer.context(), t);
    ++report.tables;
    report.file_bytes += disk.file_bytes;
    report.cache_bytes += CacheBytes(tables, t);
    report.rows += cache.unique;
    report.hits += cache.hits;
    report.bytes_read = disk.io.bytes_read;  // of all tables
    report.bytes_written = disk.io.bytes_written;
    report.reads_in_flight = disk.io.mean_in_flight;
    report.io = disk.io_name;
    report.direct = disk.direct;
  }
  return report.tables > 0 ? std::optional(report) : std::nullopt;
}

}  // namespace tessera
