#ifndef TESSERA_TOOLS_EMULATION_STREAM_H_
#define TESSERA_TOOLS_EMULATION_STREAM_H_
// Queues of work that runs when somebody waits for it, behind CUDA's interface: the emulator's
// header of it, or CUDA's own (tools/ptx).
#include <cuda_runtime.h>

#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "tools/emulation/emulation.h"

using Work = std::function<void()>;

struct CUgraph_st {
  std::vector<Work> work;
  std::map<size_t, cuda_emulation::BindLaunch> kernels;  // those of `work` that are launches
};
struct CUgraphExec_st : CUgraph_st {};
// A node is its place in `work` plus 1.
inline cudaGraphNode_t NodeAt(size_t place) { return reinterpret_cast<cudaGraphNode_t>(place + 1); }
inline size_t PlaceOf(cudaGraphNode_t node) { return reinterpret_cast<size_t>(node) - 1; }
struct CUstream_st {
  int device = 0;
  std::deque<Work> queue;
  std::unique_ptr<CUgraph_st> capture;  // what is enqueued goes here while it is set
  bool broken = false;                  // the capture: something was done that it does not allow
  cudaGraphNode_t last = nullptr;       // of the capture, as somebody asked for it
};
// One recording of an event.
struct Recording {
  int device = 0;
  cudaStream_t stream = nullptr;
  bool captured = false;  // part of a graph: nobody can wait for it
  bool done = false;
  std::chrono::steady_clock::time_point time;
};
struct CUevent_st {
  std::shared_ptr<Recording> last;
};

namespace cuda_emulation {

// Held by every call of the C interface.
std::recursive_mutex& Lock();
cudaStream_t StreamOf(cudaStream_t stream);  // null: the default stream
// Runs a stream's work to its end, or until `done`.
void RunAll(cudaStream_t stream);
void RunUntil(const Recording& recording);
void Push(cudaStream_t stream, Work work);
// Keeps an error for cudaGetLastError, and returns it.
cudaError_t Result(cudaError_t error);
void CountSync();
void CountCopy();
void CountForeignWait();

}  // namespace cuda_emulation
#endif  // TESSERA_TOOLS_EMULATION_STREAM_H_
