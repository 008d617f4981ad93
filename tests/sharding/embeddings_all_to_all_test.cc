// Each exchange against plain loops over the ranks' matrices, and its gradient by the property of a
// transpose: Σ <y, f(x)> / R = Σ <f^T(y), x>. Numbers are small integers, so sums are exact.
#include "sharding/exchange/embeddings_all_to_all.h"

#include <gtest/gtest.h>

#include <functional>
#include <numeric>
#include <random>

#include "comm/local_communicator.h"
#include "runtime/ops/shaping.h"
#include "tests/testing/devices.h"

namespace tessera {
namespace {

using Numbers = std::vector<int64_t>;

// On the host, row-major.
struct Matrix {
  int64_t rows = 0, columns = 0;
  std::vector<float> values;

  Matrix() = default;
  Matrix(int64_t r, int64_t c) : rows(r), columns(c), values(static_cast<size_t>(r * c)) {}
  float& At(int64_t r, int64_t c) { return values[static_cast<size_t>(r * columns + c)]; }
  static Matrix Draw(int64_t rows, int64_t columns, int seed) {
    Matrix m(rows, columns);
    std::mt19937 random(static_cast<unsigned>(seed));
    for (float& x : m.values) x = static_cast<float>(static_cast<int>(random() % 17) - 8);
    return m;
  }
  static Matrix Of(const Tensor& t) {
    Matrix m(t.dim(0), t.dim(1));
    m.values = t.ToVector<float>();
    return m;
  }
  double Dot(const Matrix& other) const {
    return std::inner_product(values.begin(), values.end(), other.values.begin(), 0.0);
  }
};
using Matrices = std::vector<Matrix>;  // by rank

using Start = std::function<Awaitable<Variable>(Context&, Communicator&, const Variable&)>;

struct Outcome {
  Matrices outputs, grads;
  Numbers bytes;  // sent by each rank, forward and backward
};

class EmbeddingsAllToAllTest : public testing::DeviceTest {
 protected:
  // The outputs of all ranks, and the gradients of their inputs for gradients Draw(…, 50 + rank).
  Outcome Run(const Matrices& inputs, const Start& start) {
    const auto world = inputs.size();
    Outcome outcome{Matrices(world), Matrices(world), Numbers(world)};
    RunLocalRanks(static_cast<int>(world), [&](Communicator& comm) {
      const auto r = static_cast<size_t>(comm.rank());
      Context own({.device = device(), .threads = 1});
      const Matrix& in = inputs[r];
      Variable x(Tensor::From(own, {in.rows, in.columns}, in.values), /*requires_grad=*/true);
      Tape tape(own);
      const Variable out = start(own, comm, x).Wait();
      const Matrix y = Y(out.dim(0), out.dim(1), comm.rank());
      tape.Backward(out, Tensor::From(own, out.shape(), y.values));
      outcome.outputs[r] = Matrix::Of(out.value());
      outcome.grads[r] = Matrix::Of(x.grad());
      outcome.bytes[r] = comm.bytes_sent();
    });
    return outcome;
  }
  static Matrix Y(int64_t rows, int64_t columns, int rank) {
    return Matrix::Draw(rows, columns, 50 + rank);
  }
  static void Check(const Matrices& inputs, const Matrices& expected, const Outcome& got,
                    double divisor) {
    double of_outputs = 0, of_inputs = 0;
    for (size_t r = 0; r < inputs.size(); ++r) {
      SCOPED_TRACE(Format("rank {} of {}", r, inputs.size()));
      const Matrix& out = got.outputs[r];
      ASSERT_EQ(out.rows, expected[r].rows);
      ASSERT_EQ(out.columns, expected[r].columns);
      EXPECT_EQ(out.values, expected[r].values);
      ASSERT_EQ(got.grads[r].values.size(), inputs[r].values.size());
      of_outputs += out.Dot(Y(out.rows, out.columns, static_cast<int>(r))) / divisor;
      of_inputs += inputs[r].Dot(got.grads[r]);
    }
    EXPECT_NEAR(of_outputs, of_inputs, 1e-3);
  }
};

// Some ranks have nothing.
Numbers Batches(int world) {
  const Numbers all = {3, 0, 2, 5};
  return {all.begin(), all.begin() + world};
}
Numbers Dims(int world) {
  const Numbers all = {4, 6, 0, 3};
  return {all.begin(), all.begin() + world};
}
int64_t Total(const Numbers& numbers) {
  return std::accumulate(numbers.begin(), numbers.end(), int64_t{0});
}
int64_t Before(const Numbers& numbers, int rank) {
  return std::accumulate(numbers.begin(), numbers.begin() + rank, int64_t{0});
}

TEST_P(EmbeddingsAllToAllTest, PooledAllToAll) {
  for (int world = 1; world <= 4; ++world) {
    const Numbers batches = Batches(world), dims = Dims(world);
    Matrices inputs, expected;
    for (int r = 0; r < world; ++r)
      inputs.push_back(Matrix::Draw(Total(batches), dims[static_cast<size_t>(r)], r));
    for (int r = 0; r < world; ++r) {
      Matrix out(batches[static_cast<size_t>(r)], Total(dims));
      for (int q = 0; q < world; ++q)
        for (int64_t b = 0; b < out.rows; ++b)
          for (int64_t c = 0; c < dims[static_cast<size_t>(q)]; ++c)
            out.At(b, Before(dims, q) + c) =
                inputs[static_cast<size_t>(q)].At(Before(batches, r) + b, c);
      expected.push_back(out);
    }
    for (const bool division : {true, false})
      Check(inputs, expected,
            Run(inputs,
                [&](Context& ctx, Communicator& comm, const Variable& x) {
                  return PooledEmbeddingsAllToAll(comm, dims, {.gradient_division = division})
                      .Start(ctx, x, batches);
                }),
            division ? world : 1);
  }
}

TEST_P(EmbeddingsAllToAllTest, ReduceScatterAndAllGather) {
  constexpr int64_t kColumns = 5;
  for (int world = 1; world <= 4; ++world) {
    const Numbers batches = Batches(world);
    Matrices wide, narrow, summed, gathered;
    for (int r = 0; r < world; ++r) {
      wide.push_back(Matrix::Draw(Total(batches), kColumns, r));
      narrow.push_back(Matrix::Draw(batches[static_cast<size_t>(r)], kColumns, r));
    }
    for (int r = 0; r < world; ++r) {
      Matrix sum(batches[static_cast<size_t>(r)], kColumns);
      for (Matrix& m : wide)
        for (int64_t b = 0; b < sum.rows; ++b)
          for (int64_t c = 0; c < kColumns; ++c) sum.At(b, c) += m.At(Before(batches, r) + b, c);
      summed.push_back(sum);
      Matrix all(Total(batches), kColumns);
      for (int q = 0; q < world; ++q)
        std::copy(narrow[static_cast<size_t>(q)].values.begin(),
                  narrow[static_cast<size_t>(q)].values.end(),
                  all.values.begin() + Before(batches, q) * kColumns);
      gathered.push_back(all);
    }
    Check(wide, summed,
          Run(wide,
              [&](Context& ctx, Communicator& comm, const Variable& x) {
                return PooledEmbeddingsReduceScatter(comm).Start(ctx, x, batches);
              }),
          world);
    Check(narrow, gathered,
          Run(narrow,
              [&](Context& ctx, Communicator& comm, const Variable& x) {
                return PooledEmbeddingsAllGather(comm).Start(ctx, x, batches);
              }),
          world);
  }
}

// Rank q gives matrices sorted by the rank r whose bags they are of, then by feature; rank r gets
// them sorted by q, then by feature.
TEST_P(EmbeddingsAllToAllTest, PooledAllToAllOfVariableBatches) {
  const std::vector<Numbers> all_dims = {{4, 6}, {}, {3}, {2, 2, 5}};
  const auto bags = [](size_t rank, size_t of, size_t feature) {
    return static_cast<int64_t>((rank * 3 + of * 2 + feature) % 4);
  };
  for (size_t world = 1; world <= 4; ++world) {
    const std::vector<Numbers> dims(all_dims.begin(), all_dims.begin() + static_cast<int>(world));
    Matrices inputs(world), expected(world);
    std::vector<std::vector<Numbers>> batches(world, std::vector<Numbers>(world));
    std::vector<Numbers> own_batches(world);
    for (size_t q = 0; q < world; ++q) {
      int64_t given = 0;
      for (size_t r = 0; r < world; ++r)
        for (size_t f = 0; f < dims[q].size(); ++f) {
          batches[q][r].push_back(bags(r, q, f));
          given += bags(r, q, f) * dims[q][f];
        }
      inputs[q] = Matrix::Draw(given, 1, static_cast<int>(q));
      size_t at = 0;
      for (size_t r = 0; r < world; ++r)
        for (size_t f = 0; f < dims[q].size(); ++f) {
          own_batches[r].push_back(bags(r, q, f));
          for (int64_t n = bags(r, q, f) * dims[q][f]; n > 0; --n)
            expected[r].values.push_back(inputs[q].values[at++]);
        }
    }
    for (Matrix& m : expected) {
      m.rows = std::ssize(m.values);
      m.columns = 1;
    }
    for (const char* codecs : {"fp32", "fp16"})
      Check(inputs, expected,
            Run(inputs,
                [&](Context& ctx, Communicator& comm, const Variable& x) {
                  const auto r = static_cast<size_t>(comm.rank());
                  return VariableBatchPooledEmbeddingsAllToAll(comm, dims,
                                                               {.codecs = ParseWireCodecs(codecs)})
                      .Start(ctx, x, batches[r], own_batches[r])
                      .Then([&ctx](const Variable& flat) {
                        return Reshape(ctx, flat, {flat.value().numel(), 1});
                      });
                }),
            static_cast<double>(world));
  }
}

TEST_P(EmbeddingsAllToAllTest, Sequences) {
  constexpr int64_t kColumns = 3;
  for (int world = 1; world <= 4; ++world) {
    const auto rows = [](int from, int to) { return int64_t{(from * 3 + to * 5) % 4}; };
    std::vector<Numbers> send(static_cast<size_t>(world)), receive(send);
    Matrices inputs, expected;
    for (int r = 0; r < world; ++r) {
      for (int q = 0; q < world; ++q) {
        send[static_cast<size_t>(r)].push_back(rows(r, q));
        receive[static_cast<size_t>(r)].push_back(rows(q, r));
      }
      inputs.push_back(Matrix::Draw(Total(send[static_cast<size_t>(r)]), kColumns, r));
    }
    for (int r = 0; r < world; ++r) {
      Matrix out(Total(receive[static_cast<size_t>(r)]), kColumns);
      auto to = out.values.begin();
      for (int q = 0; q < world; ++q)
        to = std::copy_n(inputs[static_cast<size_t>(q)].values.begin() +
                             Before(send[static_cast<size_t>(q)], r) * kColumns,
                         rows(q, r) * kColumns, to);
      expected.push_back(out);
    }
    Check(inputs, expected,
          Run(inputs,
              [&](Context& ctx, Communicator& comm, const Variable& x) {
                const auto r = static_cast<size_t>(comm.rank());
                return SequenceEmbeddingsAllToAll(comm).Start(ctx, x, send[r], receive[r]);
              }),
          world);
  }
}

TEST_P(EmbeddingsAllToAllTest, AllToOne) {
  for (int world = 1; world <= 4; ++world)
    for (const int join_dim : {0, 1})
      for (const int root : {0, world - 1}) {
        SCOPED_TRACE(Format("join_dim {}, root {}", join_dim, root));
        const Numbers uneven = Batches(world), even(static_cast<size_t>(world), 3);
        const Numbers &rows = join_dim == 0 ? uneven : even,
                      &columns = join_dim == 0 ? even : uneven;
        Matrices inputs, expected;
        Matrix all(join_dim == 0 ? Total(rows) : 3, join_dim == 0 ? 3 : Total(columns));
        for (int r = 0; r < world; ++r) {
          const auto i = static_cast<size_t>(r);
          inputs.push_back(Matrix::Draw(rows[i], columns[i], r));
          for (int64_t b = 0; b < rows[i]; ++b)
            for (int64_t c = 0; c < columns[i]; ++c)
              all.At(b + (join_dim == 0 ? Before(rows, r) : 0),
                     c + (join_dim == 1 ? Before(columns, r) : 0)) = inputs[i].At(b, c);
        }
        for (int r = 0; r < world; ++r)
          expected.push_back(r == root ? all : Matrix(0, columns[static_cast<size_t>(r)]));
        Check(inputs, expected,
              Run(inputs,
                  [&](Context& ctx, Communicator& comm, const Variable& x) {
                    return EmbeddingsAllToOne(comm, rows, columns, join_dim, root,
                                              {.gradient_division = false})
                        .Start(ctx, x);
                  }),
              1);
      }
}

// Small integers are exact in 16 bits.
TEST_P(EmbeddingsAllToAllTest, CodecsHalveTheBytes) {
  const Numbers batches = {4, 4}, dims = {8, 8};
  const Matrices inputs = {Matrix::Draw(8, 8, 0), Matrix::Draw(8, 8, 1)};
  const auto run = [&](const WireCodecs& codecs) {
    return Run(inputs, [&](Context& ctx, Communicator& comm, const Variable& x) {
      return PooledEmbeddingsAllToAll(comm, dims, {.codecs = codecs}).Start(ctx, x, batches);
    });
  };
  const Outcome plain = run({}), coded = run(ParseWireCodecs("fp16/bf16"));
  for (size_t r = 0; r < 2; ++r) {
    EXPECT_EQ(coded.outputs[r].values, plain.outputs[r].values);
    EXPECT_EQ(coded.grads[r].values, plain.grads[r].values);
    EXPECT_EQ(2 * coded.bytes[r], plain.bytes[r]);
  }
}

TEST_P(EmbeddingsAllToAllTest, WrongShapesAreRefused) {
  RunLocalRanks(1, [&](Communicator& comm) {
    Context own({.device = device(), .threads = 1});
    const Variable x = Tensor::Zeros(own, {3, 4});
    EXPECT_THROW(PooledEmbeddingsAllToAll(comm, {4, 4}), Error);
    EXPECT_THROW(PooledEmbeddingsAllToAll(comm, {4}).Start(own, x, {2}), Error);
    EXPECT_THROW(PooledEmbeddingsReduceScatter(comm).Start(own, x, {-1}), Error);
    const VariableBatchPooledEmbeddingsAllToAll variable(comm, {{4}});
    EXPECT_THROW(VariableBatchPooledEmbeddingsAllToAll(comm, {{4}, {4}}), Error);
    EXPECT_THROW(variable.Start(own, x, {{2}}, {2}), Error);
    EXPECT_THROW(variable.Start(own, x, {{3}}, {3, 1}), Error);
    EXPECT_THROW(variable.Start(own, x, {{3}}, {}), Error);
    EXPECT_THROW(SequenceEmbeddingsAllToAll(comm).Start(own, x, {3}, {2}).Wait(), Error);
    EXPECT_THROW(EmbeddingsAllToOne(comm, {3}, {4}, 2), Error);
    EXPECT_THROW(EmbeddingsAllToOne(comm, {3}, {4}, 1, 1), Error);
  });
}

TESSERA_INSTANTIATE_DEVICES(EmbeddingsAllToAllTest);

}  // namespace
}  // namespace tessera
