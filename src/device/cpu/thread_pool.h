// Worker threads shared by all kernels of the CPU device; the caller is worker 0. BLAS is called single-threaded from inside
// them, so that there is one set of threads. Results never depend on which worker takes a chunk.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>

namespace athanor::device::cpu {

class ThreadPool {
 public:
  /// Skip: parallel_for calls nothing (dry runs); size() is the same.
  enum class Work { Do, Skip };
  explicit ThreadPool(int threads, Work work = Work::Do);
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;
  ~ThreadPool();

  int size() const;

  /// Calls body(begin, end, worker) for chunks of at most `chunk` indices (the last one may be shorter) that cover [0, count).
  /// Chunks are the same for any number of threads. An exception of a body is thrown here after all have stopped.
  void parallel_for(int64_t count, int64_t chunk,
                    const std::function<void(int64_t begin, int64_t end, int worker)>& body);

  /// At least `count` floats of memory of this worker, 64-byte aligned, kept between calls. One block a worker: a second call by the
  /// same worker may return the same memory, enlarged.
  float* scratch(int worker, int64_t count);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace athanor::device::cpu
