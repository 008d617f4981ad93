#include "train/run/measure_tables.h"

#include <algorithm>
#include <cmath>

#include "comm/leader.h"
#include "runtime/context.h"
#include "sparse/ops/row_runs.h"

namespace tessera {
namespace {

int64_t CacheBytes(const TableBatchedEmbedding& tables, int t) {
  int64_t bytes = 0;
  for (int p = 0; p < tables.rows().num_parts(t); ++p)
    bytes += internal::RowBytes(tables.rows().part(t, p).tensor);
  return bytes * tables.caches().lines(t);
}

template <typename Config>
int64_t OnDisk(const std::vector<Config>& tables) {
  return std::ranges::count(tables, EmbeddingLocation::kDisk, &Config::location);
}

// Adds what the tables of one object have done.
void AddOnDisk(Context& ctx, const TableBatchedEmbedding& tables, DiskReport& report) {
  BlockIoStats io;  // of all of them together
  for (int t = 0; t < tables.num_tables(); ++t) {
    if (tables.table(t).location != EmbeddingLocation::kDisk) continue;
    const DiskStats disk = tables.caches().disk_stats(t);
    const CacheStats cache = tables.caches().StatsSync(ctx, t);
    report.file_bytes += disk.file_bytes;
    report.cache_bytes += CacheBytes(tables, t);
    report.rows += cache.unique;
    report.hits += cache.hits;
    report.io = disk.io_name;
    report.direct = disk.direct;
    io = disk.io;
  }
  report.bytes_read += io.bytes_read;
  report.bytes_written += io.bytes_written;
  report.reads_in_flight += io.mean_in_flight;
}

// Sums over ranks, some of which may hold no part on disk. `direct` stays the rank's.
void AddUpRanksSync(Trainer& trainer, DiskReport& report) {
  constexpr double kThousand = 1000;  // of a mean, which travels as a whole number
  const std::vector<int64_t> sums = SumOverRanksSync(
      trainer.context(), *trainer.comm(),
      {report.file_bytes, report.cache_bytes, report.rows, report.hits, report.bytes_read,
       report.bytes_written, std::llround(report.reads_in_flight * kThousand)});
  report.file_bytes = sums[0];
  report.cache_bytes = sums[1];
  report.rows = sums[2];
  report.hits = sums[3];
  report.bytes_read = sums[4];
  report.bytes_written = sums[5];
  report.reads_in_flight = static_cast<double>(sums[6]) / kThousand;
  for (const std::string& io :
       GatherResultsSync(*trainer.comm(), "tables on disk", [&] { return report.io; }))
    if (report.io.empty()) report.io = io;
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
  DiskReport report;
  if (trainer.comm() == nullptr) {
    const TableBatchedEmbedding& tables = trainer.model().embedding_bag_collection().tables();
    report.tables = OnDisk(trainer.config().tables);
    AddOnDisk(trainer.context(), tables, report);
    return report.tables > 0 ? std::optional(report) : std::nullopt;
  }
  const ShardedTables& tables = trainer.model().sharded()->tables();
  report.tables = OnDisk(tables.tables());
  if (report.tables == 0) return {};
  for (const TableBatchedEmbedding* part : tables.parts())
    AddOnDisk(trainer.context(), *part, report);
  AddUpRanksSync(trainer, report);
  return report;
}

}  // namespace tessera
