#include "bench/embedding/disk_topic.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "bench/embedding/disk_training.h"
#include "bench/inputs/draws.h"
#include "bench/inputs/skew.h"
#include "bench/train/criteo_dlrm.h"
#include "data/click_row.h"
#include "embedding/config/placement.h"
#include "embedding/storage/block_io.h"
#include "embedding/storage/scratch_file.h"
#include "runtime/base/check.h"
#include "runtime/context.h"

namespace tessera::bench {
namespace {

constexpr int64_t kFeatures = ClickRow::kCategories;
constexpr int64_t kReadBytes = int64_t{1} << 28;  // of the file that random reads are from

// One table that all features read.
TrainConfig ConfigOf(const Point& point, bool on_disk) {
  TrainConfig config =
      CriteoDlrm(point.Int("dim"), std::vector<int64_t>(kFeatures, point.Int("rows")));
  EmbeddingBagConfig table = config.tables[0];
  table.feature_names.clear();
  for (const EmbeddingBagConfig& t : config.tables)
    table.feature_names.push_back(t.feature_names[0]);
  if (on_disk) {
    table.location = EmbeddingLocation::kDisk;
    table.cache.load_factor = point.Number("cache");
    table.cache.policy = ParseCachePolicy(point.Text("policy"));
    table.cache.folder = point.Text("folder") == "tmp" ? "" : point.Text("folder");
  }
  config.tables = {table};
  config.batch_size = point.Int("batch");
  return config;
}

// Reads the disk's limit: blocks all over a file, many at once.
class RandomReads {
 public:
  explicit RandomReads(const std::string& folder) : io_(MakeBlockIo()), file_(folder, kReadBytes) {
    constexpr int64_t kPiece = int64_t{1} << 20;
    const AlignedBytes zeros = AllocateAligned(kPiece);
    std::fill_n(zeros.get(), kPiece, 0);
    std::vector<BlockOp> ops;
    for (int64_t at = 0; at < kReadBytes; at += kPiece)
      ops.push_back({file_.fd(), at, kPiece, zeros.get(), true});
    Do(std::move(ops));
  }
  void Run(int64_t count) {
    Draws draws(11, sequence_++);
    std::vector<BlockOp> ops;
    for (int64_t i = 0; i < count; ++i) {
      const int64_t block = draws.Below(kReadBytes / kBlockBytes);
      ops.push_back({file_.fd(), block * kBlockBytes, kBlockBytes});
    }
    seconds_.push_back(SecondsOf([&] { Do(std::move(ops)); }));
  }
  double MedianSeconds() const { return Timing{"", seconds_}.Median(); }

 private:
  void Do(std::vector<BlockOp> ops) {
    const auto batch = std::make_shared<BlockBatch>(std::move(ops));
    io_->Start(batch);
    batch->Wait();
  }

  std::shared_ptr<BlockIo> io_;
  ScratchFile file_;
  uint64_t sequence_ = 0;
  std::vector<double> seconds_;
};

int RanksOf(const Point& point) { return static_cast<int>(point.Int("ranks")); }

class DiskWork {
 public:
  DiskWork(Context& ctx, const Point& point)
      : steps_(point.Int("steps")),
        batches_(std::make_shared<DiskBatches>(ctx, ConfigOf(point, false), point.Text("skew"),
                                               point.Int("batches"))),
        disk_(ctx.threads().threads(), RanksOf(point), ConfigOf(point, true), batches_,
              PipelineKind::kPrefetch),
        memory_(ctx.threads().threads(), RanksOf(point), ConfigOf(point, false), batches_,
                PipelineKind::kNone),
        reads_(ConfigOf(point, true).tables[0].cache.folder) {
    disk_.WriteAllRows();
  }

  // Steps with the same losses, until all lines of the cache have had rows that left.
  void Check() {
    int64_t misses = 0;
    do {
      const int64_t before = disk_.StatsSync().misses;
      const double got = disk_.Run(steps_), expected = memory_.Run(steps_);
      TESSERA_CHECK_EQ(got, expected, "the loss of {} steps with a table on disk", steps_);
      misses = disk_.StatsSync().misses - before;
    } while (disk_.StatsSync().evictions < disk_.lines() && disk_.done() < 1000);
    reads_of_call_ = std::max<int64_t>(1, misses);
    disk_.ForgetTimes();
    memory_.ForgetTimes();
    begun_ = disk_.StatsSync();
    disk_begun_ = disk_.disk_stats();
    begun_at_ = disk_.done();
  }
  void Disk() { disk_.Run(steps_); }
  void Memory() { memory_.Run(steps_); }
  void Reads() { reads_.Run(reads_of_call_); }

  std::vector<std::pair<std::string, double>> Facts() {
    const CacheStats now = disk_.StatsSync();
    const DiskStats disk = disk_.disk_stats();
    const auto misses = static_cast<double>(now.misses - begun_.misses);
    const auto unique = static_cast<double>(now.unique - begun_.unique),
               ids = static_cast<double>(now.requested - begun_.requested),
               steps = static_cast<double>(disk_.done() - begun_at_);
    const auto per_step = [&](int64_t after, int64_t before) {
      return static_cast<double>(after - before) / steps;
    };
    const double on_disk = disk_.MedianSeconds(), in_memory = memory_.MedianSeconds(),
                 reading = reads_.MedianSeconds();
    return {
        {"hit_rate_of_rows", 1 - misses / unique},
        {"hit_rate_of_ids", 1 - misses / ids},
        {"misses_per_step", per_step(now.misses, begun_.misses)},
        {"blocks_read_per_step", per_step(disk.rows.blocks_read, disk_begun_.rows.blocks_read)},
        {"bytes_read_per_step", per_step(disk.io.bytes_read, disk_begun_.io.bytes_read)},
        {"bytes_written_per_step", per_step(disk.io.bytes_written, disk_begun_.io.bytes_written)},
        {"rows_moved_per_step", per_step(disk.rows.rows_moved, disk_begun_.rows.rows_moved)},
        {"reads_in_flight", disk.io.mean_in_flight},
        {"disk_reads_per_second", static_cast<double>(reads_of_call_) / reading},
        {"page_cache_bypassed", disk.direct ? 1.0 : 0.0},
        {"file_bytes", static_cast<double>(disk.file_bytes)},
        {"share_of_bound", std::max(in_memory, reading) / on_disk},
        {"share_of_memory", in_memory / on_disk}};
  }

 private:
  int64_t steps_;
  std::shared_ptr<const DiskBatches> batches_;
  DiskTraining disk_, memory_;
  RandomReads reads_;
  CacheStats begun_;
  DiskStats disk_begun_;
  int64_t begun_at_ = 0, reads_of_call_ = 1;
};

Work MakeDiskWork(Context& ctx, const Point& point) {
  const auto disk = std::make_shared<DiskWork>(ctx, point);
  Work work;
  work.check = [disk] { disk->Check(); };
  work.contenders = {{"tessera", [disk](int) { disk->Disk(); }},
                     {"memory", [disk](int) { disk->Memory(); }}};
  work.limit = {"random reads", [disk](int) { disk->Reads(); }};
  work.items = point.Int("steps") * point.Int("batch");
  work.item = "examples";
  work.facts_after = [disk] { return disk->Facts(); };
  return work;
}

std::vector<Axis> DiskAxes() {
  return {{"skew", {"zipf:1.05"}, kSkewHelp, [](const std::string& text) { ParseSkew(text); }},
          {"rows", {"2M"}, "rows of the table", WholeFrom(1024)},
          {"dim", {"64"}, "its dim", WholeFrom(1, 4096)},
          {"batch", {"2048"}, "examples of a batch, each of 26 ids", WholeFrom(1)},
          {"ranks", {"1"}, "ranks, as threads, with the table by rows over them", WholeFrom(1, 64)},
          {"cache", {"0.25"}, "lines of the cache, as a share of the rows", NumberFrom(1e-6, 1)},
          {"policy",
           {"LRU"},
           "which rows leave the cache first: LRU or LFU",
           [](const std::string& text) { ParseCachePolicy(text); }},
          {"steps", {"16"}, "steps of a call", WholeFrom(1)},
          {"batches", {"128"}, "that the steps go round", WholeFrom(1)},
          {"folder", {"tmp"}, "of the files; tmp: $TMPDIR, or /tmp"}};
}

std::vector<Point> Laws() {
  std::vector<Point> points;
  for (const std::string skew : {"uniform", "zipf:0.8", "zipf:1.05", "zipf:1.2"})
    points.emplace_back(skew, PointValues{{"skew", skew}});
  return points;
}

}  // namespace

const Topic& DiskTopic() {
  static const Topic topic = {
      .name = "disk",
      .help = "Steps of a DLRM whose table lies on disk behind a cache, beside one in memory.",
      .limit = "as many random direct reads of 4 KiB as rows were missed",
      .details =
          "Print below each row of ours what its cache hit, what a step read and wrote, and two "
          "shares: of bound, its speed as a share of that of the slower of the steps in memory and "
          "the limit's reads; and of memory, as a share of that of the steps in memory",
      .axes = DiskAxes(),
      .suites = {{"laws", "ids by four laws, the cache a quarter of the table", Laws()}},
      .make = MakeDiskWork,
      .cold = false};
  return topic;
}

}  // namespace tessera::bench
