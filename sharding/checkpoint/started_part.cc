#include "sharding/checkpoint/started_part.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "runtime/staging.h"
#include "runtime/tensor.h"

namespace tessera {
namespace {

// Gives whole rows that have not started, first, first + 1, ….
using MakeRows = std::function<void(int64_t first, int64_t count, char* out)>;

class StartedTensor {
 public:
  StartedTensor(std::vector<RunOfRows> runs, int64_t rows, int64_t row_bytes, ReadStarted read,
                MakeRows make)
      : runs_(std::move(runs)),
        rows_(rows),
        row_bytes_(row_bytes),
        read_(std::move(read)),
        make_(std::move(make)) {
    int64_t before = 0;
    for (const RunOfRows& run : runs_) {
      before_.push_back(before);
      before += run.size();
    }
  }

  void Read(int64_t begin, int64_t count, void* out) const {
    char* to = static_cast<char*>(out);
    for (int64_t at = begin, end = begin + count, next; at < end; to += next - at, at = next) {
      const int64_t row = at / row_bytes_;
      const auto run = std::ranges::upper_bound(runs_, row, {}, &RunOfRows::end);
      if (run != runs_.end() && run->begin <= row) {
        next = std::min(end, run->end * row_bytes_);
        const int64_t first = before_[static_cast<size_t>(run - runs_.begin())] - run->begin;
        read_(first * row_bytes_ + at, next - at, to);
      } else {
        const int64_t until = run == runs_.end() ? rows_ : run->begin;
        next = std::min({end, until * row_bytes_, at + kPieceBytes});
        Make(at, next, to);
      }
    }
  }

 private:
  void Make(int64_t begin, int64_t end, char* to) const {
    const int64_t first = begin / row_bytes_, last = (end + row_bytes_ - 1) / row_bytes_;
    std::vector<char> rows(static_cast<size_t>((last - first) * row_bytes_));
    make_(first, last - first, rows.data());
    std::memcpy(to, rows.data() + (begin - first * row_bytes_), static_cast<size_t>(end - begin));
  }

  std::vector<RunOfRows> runs_;
  std::vector<int64_t> before_;  // rows in the runs before each
  int64_t rows_, row_bytes_;
  ReadStarted read_;
  MakeRows make_;
};

StoredPart PartOf(const Shard& shard, const StartedRows& started, int64_t row_bytes,
                  ReadStarted read, MakeRows make) {
  const auto tensor = std::make_shared<const StartedTensor>(started.runs, shard.rows, row_bytes,
                                                            std::move(read), std::move(make));
  return {shard,
          [tensor](int64_t begin, int64_t count, void* out) { tensor->Read(begin, count, out); }};
}

}  // namespace

StoredPart WeightsOfAllRows(const Shard& shard, const StartedRows& started, DType dtype,
                            ReadStarted read) {
  const auto ctx =
      std::make_shared<Context>(ContextOptions{.threads = 1, .seed = started.start.seed});
  const auto make = [ctx, start = started.start, columns = shard.columns, dtype](
                        int64_t first, int64_t count, char* out) {
    const Tensor rows = StartingRows(*ctx, start, first, count, columns, dtype);
    std::memcpy(out, rows.raw_data(), static_cast<size_t>(rows.nbytes()));
  };
  return PartOf(shard, started, shard.columns * SizeOf(dtype), std::move(read), make);
}

StoredPart StateOfAllRows(const Shard& shard, const StartedRows& started, int64_t row_bytes,
                          ReadStarted read) {
  return PartOf(shard, started, row_bytes, std::move(read),
                [row_bytes](int64_t, int64_t count, char* out) {
                  std::memset(out, 0, static_cast<size_t>(count * row_bytes));
                });
}

}  // namespace tessera
