// Groupings of a batch's ids by row, against what a stable sort leaves of each row.
#include <algorithm>
#include <bit>
#include <memory>
#include <string>
#include <vector>

#include "bench/embedding/shape_axes.h"
#include "bench/embedding/workload.h"
#include "bench/lab/cuda/device_bytes.h"
#include "bench/lab/cuda/lab_kinds.h"
#include "bench/lab/guarded_bytes.h"
#include "bench/lab/occurrence_lists.h"
#include "runtime/algorithms.h"
#include "runtime/base/check.h"
#include "runtime/context.h"
#include "runtime/device/dispatch.h"

namespace tessera::bench {
namespace {

constexpr int64_t kWord = sizeof(uint32_t);

// The occurrences of a list as keys and payloads in the memory of a device.
class DeviceOccurrences {
 public:
  DeviceOccurrences(Context& ctx, OccurrenceList list)
      : list_(std::move(list)), expected_(list_.occurrences) {
    for (GuardedBytes& room : host_) {
      room = GuardedBytes(size() * kWord);
      rooms_.emplace_back(ctx, room);
    }
    Restore();
  }
  DeviceOccurrences(const DeviceOccurrences&) = delete;

  // The order of the batch again, and nothing in the scratch.
  void Restore() {
    for (GuardedBytes& room : host_) room = GuardedBytes(room.size());
    auto *key = host_[kKeys].as<uint32_t>(), *payload = host_[kPayloads].as<uint32_t>();
    for (const RowOccurrence& o : list_.occurrences) *key++ = o.row, *payload++ = o.payload;
    for (const DeviceBytes& room : rooms_) room.Send();
  }
  CudaGroupingArgs Args() const {
    const auto words = [&](int room) { return rooms_[static_cast<size_t>(room)].as<uint32_t>(); };
    return {words(kKeys),
            words(kPayloads),
            words(kKeysScratch),
            words(kPayloadsScratch),
            size(),
            static_cast<uint64_t>(list_.num_rows)};
  }
  // Throws Error, beginning with `what`.
  void Check(const CudaGrouped& grouped, const std::string& what) {
    const CudaGroupingArgs args = Args();
    TESSERA_CHECK(grouped.keys == args.keys || grouped.keys == args.keys_scratch,
                  "{}: the keys lie neither in `keys` nor in `keys_scratch`", what);
    TESSERA_CHECK(grouped.values == args.payloads || grouped.values == args.payloads_scratch,
                  "{}: the payloads lie neither in `payloads` nor in `payloads_scratch`", what);
    for (const DeviceBytes& room : rooms_) room.CopyBack();
    const auto* key = host_[grouped.keys == args.keys ? kKeys : kKeysScratch].as<uint32_t>();
    const auto* payload =
        host_[grouped.values == args.payloads ? kPayloads : kPayloadsScratch].as<uint32_t>();
    std::vector<RowOccurrence> got;
    for (int64_t i = 0; i < size(); ++i) got.push_back({key[i], payload[i]});
    expected_.Check(got, what);
    const char* const names[] = {"keys", "payloads", "keys_scratch", "payloads_scratch"};
    for (int room = 0; room < kRooms; ++room)
      host_[room].CheckGuards(Format("{}: {}", what, names[room]));
  }
  int64_t size() const { return std::ssize(list_.occurrences); }

 private:
  enum Room { kKeys, kPayloads, kKeysScratch, kPayloadsScratch, kRooms };

  OccurrenceList list_;
  ExpectedRuns expected_;
  GuardedBytes host_[kRooms];
  std::vector<DeviceBytes> rooms_;
};

// All tables' occurrences in one list: rows become keys, bags are counted over all tables.
OccurrenceList Joined(const std::vector<OccurrenceList>& lists, int64_t batch) {
  OccurrenceList all = {{}, 0};
  for (size_t t = 0; t < lists.size(); ++t) {
    const auto first_key = static_cast<uint32_t>(all.num_rows);
    const auto first_bag = static_cast<uint32_t>(static_cast<int64_t>(t) * batch);
    all.num_rows += lists[t].num_rows;
    TESSERA_CHECK(
        all.num_rows < int64_t{1} << 32,
        "the tables have {} rows and more; a grouping has keys of 32 bits, for fewer than "
        "2^32 rows: choose fewer --rows or --tables",
        all.num_rows);
    for (const RowOccurrence& o : lists[t].occurrences)
      all.occurrences.push_back({first_key + o.row, first_bag + o.payload});
  }
  return all;
}

// The shape of a point that has the axes of a grouping alone.
Shape ShapeOfIds(const Point& point) {
  PointValues values = point.values();
  for (const Axis& axis : ShapeAxes({.rows = false}, /*files=*/false))
    if (!point.Has(axis.name)) values.emplace_back(axis.name, axis.values[0]);
  return ShapeOf(Point("", values));
}

CudaGrouped Ours(Context& ctx, const CudaGroupingArgs& args) {
  CudaGrouped grouped = {};
  OnlyOnCuda(ctx.device(), [&](auto) {
    grouped = internal::SortPairs(ctx, args.keys, args.keys_scratch, args.payloads,
                                  args.payloads_scratch, args.size, std::bit_width(args.end_key));
  });
  return grouped;
}

class GroupingCase {
 public:
  GroupingCase(Context& ctx, const Point& point) : ctx_(ctx), batch_(ctx, Draw(point)) {}

  void Check(const CudaGrouping& run, bool) {
    for (const OccurrenceList& list : HardOccurrences()) {
      DeviceOccurrences hard(ctx_, list);
      hard.Check(run(ctx_, hard.Args()),
                 Format("{} occurrences of {} rows", hard.size(), list.num_rows));
    }
    batch_.Restore();
    batch_.Check(run(ctx_, batch_.Args()), "the batch at hand");
    batch_.Restore();
  }
  void Run(const CudaGrouping& run) { run(ctx_, batch_.Args()); }
  void Restore() { batch_.Restore(); }
  // Each key and payload in and out once.
  void Count(LabCase& made) const {
    made.bytes = made.least_bytes = static_cast<double>(4 * kWord * batch_.size());
  }

 private:
  static OccurrenceList Draw(const Point& point) {
    const Shape shape = ShapeOfIds(point);
    Context cpu(HostContext(point));
    return Joined(OccurrencesOf(shape, DrawIdBatches(cpu, shape).Next()), shape.batch);
  }

  Context& ctx_;
  DeviceOccurrences batch_;
};

LabCase MakeGrouping(Context& ctx, const CudaVariant&, const Point& point) {
  const auto own = std::make_shared<GroupingCase>(ctx, point);
  LabCase made = MakeCase(own, CudaGrouping(Ours));
  made.before = [own] { own->Restore(); };
  return made;
}

}  // namespace

LabKind GroupingKind() {
  return {"grouping", AxesOnGpu(GroupingAxes(/*files=*/false), kSmallTables), kLargeTables,
          MakeGrouping};
}

}  // namespace tessera::bench
