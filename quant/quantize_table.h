#ifndef TESSERA_QUANT_QUANTIZE_TABLE_H_
#define TESSERA_QUANT_QUANTIZE_TABLE_H_
// Quantizes the rows of a float table block by block: memory holds one block of floats, and the
// stored rows if they are kept. Rows with a NaN are looked for first. Each block is decoded again
// to measure the quantization error.
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "quant/row_codec.h"
#include "runtime/files/safetensors.h"
#include "runtime/tensor.h"

namespace tessera {

// The rows of a table of floats.
struct RowSource {
  std::string table;  // for messages
  int64_t rows = 0, dim = 0;
  // Rows [begin, end) as f32 [end − begin, dim] of its own memory or the source's, on ctx's device.
  std::function<Tensor(Context& ctx, int64_t begin, int64_t end)> read;
};
// A source of the rows of `rows`, [E, D], f32, f16 or bf16, on ctx's device.
RowSource SourceOf(const std::string& table, const Tensor& rows);
// A source of the rows of a file's entry; the file must outlive it. Throws Error for an entry that
// is no [E, D] of floats of 16 or 32 bits.
RowSource SourceOf(const SafetensorsFile& file, const std::string& entry);

// The rows of one table that hold a NaN.
struct NanRows {
  static constexpr int64_t kListed = 8;
  std::string table;
  int64_t count = 0;
  std::vector<int64_t> first = {};  // at most kListed, ascending
};
NanRows FindNan(Context& ctx, const RowSource& source);
// Throws Error that lists the tables with NaN, how many rows each has, and the first of them.
void CheckNoNan(Context& ctx, std::span<const RowSource> sources);

enum class NanPolicy {
  kError,    // CheckNoNan first
  kChecked,  // the caller has done that
  kZero,     // a NaN is stored as 0
};
// Parses "error" or "zero". Throws Error for other words.
NanPolicy ParseNanPolicy(const std::string& name);

struct QuantizeOptions {
  NanPolicy nan = NanPolicy::kError;
  EncodeOptions encode = {};
};

// How the decoded rows differ from the source's. The differences are of numbers that are finite in
// both; numbers that are not finite in the source count nowhere but in not_finite.
struct QuantizationError {
  int64_t rows = 0;        // that are finite, decoded too
  double max = 0;          // largest difference of two numbers
  double rms = 0;          // root of the mean squared difference
  double value_rms = 0;    // of the source's own numbers, those that were compared
  double lost = 0;         // share of the source's finite numbers that decode as inf or NaN
  int64_t worst_row = -1;  // of these, by mean squared difference
  double worst_row_rms = 0;
  int64_t not_finite = 0;               // rows with an inf or a NaN, there or decoded
  bool default_row_not_finite = false;  // not_finite counts a default row, too

  // The error by which codecs are compared, 0 where all is exact: the root of
  // (1 − lost)·(rms / value_rms)² + lost, so that a number that is lost counts as wrong by 100 %.
  double relative() const;
};
// "max 0.0039 rms 0.0021 (0.4 % of the values' rms 0.52), worst row 17 (0.0026)".
std::string ToString(const QuantizationError& error);

// Called with stored rows u8 [n, RowBytes], from row `begin` on, in order; they are changed after.
using RowSink = std::function<void(int64_t begin, const Tensor& stored)>;
// Waits for the device.
QuantizationError QuantizeTable(Context& ctx, const RowSource& source, const RowCodec& codec,
                                const QuantizeOptions& options, const RowSink& sink);

// A source of the default row of a table with these rows, [1, D]. Throws Error, naming the table,
// for a row that is no f32 [D] on the device.
RowSource DefaultRowOf(const RowSource& rows, const Tensor& default_row);
// Quantizes a DefaultRowOf as QuantizeTable does -> u8 [1, RowBytes]. Counts it in error.not_finite
// if it does not decode as finite numbers.
Tensor QuantizeDefaultRow(Context& ctx, const RowSource& default_row, const RowCodec& codec,
                          const QuantizeOptions& options, QuantizationError& error);

struct QuantizedRows {
  Tensor rows;  // u8 [E, RowBytes]
  QuantizationError error;
};
QuantizedRows QuantizeTable(Context& ctx, const RowSource& source, const RowCodec& codec,
                            const QuantizeOptions& options = {});
// Writes the stored rows into `rows`, u8 [E, RowBytes].
QuantizationError QuantizeTableInto(Context& ctx, const RowSource& source, const RowCodec& codec,
                                    const QuantizeOptions& options, const Tensor& rows);

}  // namespace tessera
#endif  // TESSERA_QUANT_QUANTIZE_TABLE_H_
