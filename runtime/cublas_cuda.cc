#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <limits>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/check.h"
#include "runtime/cublas.h"
#include "runtime/device/cuda_check.h"
#include "runtime/tensor.h"

namespace tessera::internal {
namespace {

// The workspace that cuBLAS asks for on Hopper; a larger one makes no product faster.
constexpr int64_t kWorkspaceBytes = int64_t{32} << 20;

#if defined(TESSERA_CUDA_EMULATION)
constexpr bool kUsable = false;  // cuBLAS knows nothing of emulated memory
#else
constexpr bool kUsable = true;
#endif

template <typename Fn>
bool Resolve(void* library, const char* name, Fn& fn) {
  fn = reinterpret_cast<Fn>(dlsym(library, name));
  return fn != nullptr;
}

// The functions of an open library; null if it lacks one.
const CublasFunctions* FunctionsOf(void* library) {
  static CublasFunctions functions;
  if (Resolve(library, "cublasCreate_v2", functions.create) &&
      Resolve(library, "cublasSetStream_v2", functions.set_stream) &&
      Resolve(library, "cublasSetWorkspace_v2", functions.set_workspace) &&
      Resolve(library, "cublasGemmEx", functions.gemm) &&
      Resolve(library, "cublasGemmStridedBatchedEx", functions.gemm_strided_batched))
    return &functions;
  return nullptr;
}

constexpr const char* kNames[] = {"libcublas.so.13", "libcublas.so.12", "libcublas.so"};

const CublasFunctions* Load() {
  const char* wish = std::getenv("TESSERA_CUBLAS");
  if (!kUsable) return nullptr;
  const CublasFunctions* functions = FindCublas(wish == nullptr ? "" : wish);
  if (functions == nullptr && wish == nullptr)
    std::fprintf(stderr,
                 "there is no %s on this machine: dense products use a slower kernel of ours "
                 "(TESSERA_CUBLAS=PATH names the file of cuBLAS or its folder, TESSERA_CUBLAS=off "
                 "does without)\n",
                 kNames[0]);
  return functions;
}

std::atomic<const CublasFunctions*>& Chosen() {
  static std::atomic<const CublasFunctions*> chosen = Load();
  return chosen;
}

void Check(int status, const char* call) {
  TESSERA_CHECK(status == 0, "cuBLAS: {}: status {}", call, status);
}

struct Handle {
  void* handle = nullptr;
  Tensor workspace;
};

// The handle of ctx's stream. Streams are used again and never destroyed, and so are the handles.
Handle& HandleOf(Context& ctx, const CublasFunctions& cublas) {
  using Key = std::pair<const CublasFunctions*, void*>;
  static std::mutex* mutex = new std::mutex;
  static auto* handles = new std::map<Key, Handle>;
  const std::lock_guard lock(*mutex);
  Handle& h = (*handles)[{&cublas, ctx.stream().handle()}];
  if (h.handle == nullptr) {
    h.workspace = Tensor::Empty(ctx, {kWorkspaceBytes}, DType::kU8);
    Check(cublas.create(&h.handle), "create");
    Check(cublas.set_stream(h.handle, ctx.stream().handle()), "set stream");
    Check(cublas.set_workspace(h.handle, h.workspace.raw_data(), kWorkspaceBytes), "set workspace");
  }
  return h;
}

bool FitsInt(const CublasGemmArgs& a) {
  const int64_t largest = std::max({a.m, a.n, a.k, a.lda, a.ldb, a.ldc, a.batch});
  return largest <= std::numeric_limits<int>::max();
}

}  // namespace

const CublasFunctions* FindCublas(const std::string& wish) {
  if (wish == "off") return nullptr;
  std::vector<std::string> paths(std::begin(kNames), std::end(kNames));
  if (std::filesystem::is_directory(wish))
    for (std::string& path : paths) path = (std::filesystem::path(wish) / path).string();
  else if (!wish.empty())
    paths = {wish};
  std::string reason;
  for (const std::string& path : paths) {
    void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      if (reason.empty()) reason = dlerror();
      continue;
    }
    if (const CublasFunctions* functions = FunctionsOf(library)) return functions;
    reason = path + " lacks a function of cuBLAS";
    dlclose(library);
  }
  if (wish.empty()) return nullptr;
  throw Error(Format("TESSERA_CUBLAS={}: expected \"off\", the file of cuBLAS or its folder: {}",
                     wish, reason));
}

void UseCublas(const CublasFunctions* functions) { Chosen() = functions; }

// A row-major matrix is a column-major one transposed, so cuBLAS computes Cᵀ = op(B)ᵀ·op(A)ᵀ: B
// comes first, and the transpositions are the caller's.
bool CublasGemm(Context& ctx, const CublasGemmArgs& args) {
  const CublasFunctions* cublas = Chosen();
  const DenseProducts products = ctx.dense_products();
  TESSERA_CHECK(
      cublas != nullptr || products == DenseProducts::kLibrary,
      "dense products {}: cuBLAS makes them, and there is none; library and portable ones "
      "do without",
      ToString(products));
  if (cublas == nullptr || !FitsInt(args)) return false;
  UseDevice(ctx.device());
  void* handle = HandleOf(ctx, *cublas).handle;
  const int op_a = args.transpose_a ? kCublasOpT : kCublasOpN,
            op_b = args.transpose_b ? kCublasOpT : kCublasOpN;
  const auto as_int = [](int64_t v) { return static_cast<int>(v); };
  const int m = as_int(args.m), n = as_int(args.n), k = as_int(args.k), lda = as_int(args.lda),
            ldb = as_int(args.ldb), ldc = as_int(args.ldc),
            type = args.bf16 ? kCudaR16Bf : kCudaR32F,
            compute =
                products == DenseProducts::kTf32 ? kCublasCompute32FFastTf32 : kCublasCompute32F;
  const float one = 1, zero = 0;
  if (args.batch == 1)
    Check(cublas->gemm(handle, op_b, op_a, n, m, k, &one, args.b, type, ldb, args.a, type, lda,
                       &zero, args.c, kCudaR32F, ldc, compute, kCublasGemmDefault),
          "gemm");
  else
    Check(cublas->gemm_strided_batched(handle, op_b, op_a, n, m, k, &one, args.b, type, ldb,
                                       args.step_b, args.a, type, lda, args.step_a, &zero, args.c,
                                       kCudaR32F, ldc, args.step_c, as_int(args.batch), compute,
                                       kCublasGemmDefault),
          "batched gemm");
  return true;
}

}  // namespace tessera::internal
