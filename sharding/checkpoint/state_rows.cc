#include "sharding/checkpoint/state_rows.h"

#include <algorithm>
#include <numeric>
#include <span>
#include <vector>

#include "runtime/staging.h"
#include "sparse/ops/row_runs.h"

namespace tessera {
namespace {

int64_t RowsAtOnce(const Tensor& tensor) {
  return std::max<int64_t>(1, kPieceBytes / std::max<int64_t>(1, internal::RowBytes(tensor)));
}

// Calls fn(begin, end) for pieces of [0, count).
template <typename Fn>
void InPieces(int64_t count, int64_t step, Fn&& fn) {
  for (int64_t begin = 0; begin < count; begin += step) fn(begin, std::min(begin + step, count));
}

std::vector<int64_t> Numbered(int64_t first, int64_t count) {
  std::vector<int64_t> rows(static_cast<size_t>(count));
  std::iota(rows.begin(), rows.end(), first);
  return rows;
}

// Calls fn with the numbers of a stored tensor's rows in runs, some rows at a time, with room for
// their bytes.
template <typename Fn>
void ForStoredRuns(const Tensor& shape, const std::vector<RunOfRows>& runs, Fn&& fn) {
  const int64_t width = internal::RowBytes(shape);
  std::vector<char> bytes;
  for (const RunOfRows& run : runs)
    InPieces(run.size(), RowsAtOnce(shape), [&](int64_t begin, int64_t end) {
      const std::vector<int64_t> rows = Numbered(run.begin + begin, end - begin);
      bytes.resize(rows.size() * static_cast<size_t>(width));
      fn(std::span<const int64_t>(rows), bytes);
    });
}

std::vector<RunOfRows> AllRows(const NamedTensor& state) { return {{0, state.tensor.dim(0)}}; }

}  // namespace

StreamedTensor StreamedState(Context& ctx, const NamedTensor& state) {
  if (state.stored) return StreamedRuns(state, AllRows(state));
  if (!state.tensor.defined())
    throw Error(Format("checkpoint: tensor '{}' is undefined", state.name));
  if (!state.tensor.is_contiguous())
    throw Error(Format("checkpoint: tensor '{}' is a view {} that is not contiguous", state.name,
                       state.tensor.shape()));
  return Streamed(ctx, state.tensor);
}

StreamedTensor StreamedRuns(const NamedTensor& state, const std::vector<RunOfRows>& runs) {
  return {state.tensor.dtype(), internal::WithRows(state.tensor, CountRows(runs)),
          [state, runs](const StreamedTensor::Sink& sink) {
            ForStoredRuns(state.tensor, runs, [&](auto rows, std::vector<char>& bytes) {
              state.stored->read(rows, bytes.data());
              sink(bytes.data(), std::ssize(bytes));
            });
          }};
}

StreamedSafetensors StreamedStates(Context& ctx, std::span<const NamedTensor> states) {
  StreamedSafetensors content;
  for (const NamedTensor& named : states)
    TESSERA_CHECK(content.tensors.emplace(named.name, StreamedState(ctx, named)).second,
                  "checkpoint: two tensors are called '{}'", named.name);
  return content;
}

StreamedTensor StreamedRows(Context& ctx, const NamedTensor& state, const Tensor& rows) {
  const Tensor& tensor = state.tensor;
  const auto in_memory = [&ctx, state, rows](const StreamedTensor::Sink& sink) {
    InPieces(rows.numel(), RowsAtOnce(state.tensor), [&](int64_t begin, int64_t end) {
      const Tensor taken =
          TakeRows(ctx, state.tensor, rows.Rows(begin, end)).To(ctx, Device::Cpu());
      sink(taken.raw_data(), taken.nbytes());
    });
  };
  const auto stored = [state, rows](const StreamedTensor::Sink& sink) {
    const std::vector<int64_t> all = rows.ToVector<int64_t>();
    const int64_t width = internal::RowBytes(state.tensor);
    std::vector<char> bytes;
    InPieces(std::ssize(all), RowsAtOnce(state.tensor), [&](int64_t begin, int64_t end) {
      bytes.resize(static_cast<size_t>((end - begin) * width));
      state.stored->read(
          std::span(all).subspan(static_cast<size_t>(begin), static_cast<size_t>(end - begin)),
          bytes.data());
      sink(bytes.data(), std::ssize(bytes));
    });
  };
  const Shape shape = internal::WithRows(tensor, rows.numel());
  if (state.stored) return {tensor.dtype(), shape, stored};
  return {tensor.dtype(), shape, in_memory};
}

Tensor RowsOfState(Context& ctx, const NamedTensor& state, int64_t first, int64_t count) {
  if (!state.stored) return state.tensor.Rows(first, first + count);
  const Tensor rows =
      Tensor::EmptyHost(internal::WithRows(state.tensor, count), state.tensor.dtype());
  state.stored->read(Numbered(first, count), rows.raw_data());
  return rows.To(ctx, ctx.device());
}

void WriteStored(Context& ctx, const NamedTensor& state, int64_t first, const Tensor& rows) {
  const Tensor host = rows.To(ctx, Device::Cpu());
  state.stored->write(Numbered(first, host.dim(0)), host.raw_data());
}

void ReadState(Context& ctx, const NamedTensor& state,
               const std::function<void(int64_t, int64_t, void*)>& read) {
  if (state.stored)
    return ReadRuns(state, AllRows(state), [&](int64_t first, int64_t count, void* bytes) {
      const int64_t width = internal::RowBytes(state.tensor);
      read(first * width, count * width, bytes);
    });
  int64_t at = 0;
  WritePieces(ctx, state.tensor, [&](void* bytes, int64_t count) {
    read(at, count, bytes);
    at += count;
  });
}

void ReadRuns(const NamedTensor& state, const std::vector<RunOfRows>& runs,
              const std::function<void(int64_t, int64_t, void*)>& read) {
  ForStoredRuns(state.tensor, runs, [&](auto rows, std::vector<char>& bytes) {
    read(rows.front(), std::ssize(rows), bytes.data());
    state.stored->write(rows, bytes.data());
  });
}

}  // namespace tessera
