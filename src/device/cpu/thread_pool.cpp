// Workers wait on a generation counter; chunks are taken from an atomic index, so that an uneven machine stays busy. A worker that
// comes when all chunks are taken is not waited for: on a busy machine it may not run for milliseconds.
#include "device/cpu/thread_pool.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <new>
#include <thread>
#include <utility>
#include <vector>

namespace athanor::device::cpu {

namespace {

// Spinning briefly before sleeping saves the wake-up of a thread (about 10 us) between the short kernels of a small model.
constexpr int kSpins = 4000;

struct AlignedFree {
  void operator()(float* memory) const { std::free(memory); }
};

constexpr uint32_t kOpen = 1U << 31;

struct Scratch {
  std::unique_ptr<float, AlignedFree> memory;
  int64_t count = 0;
};

inline void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#else
  std::this_thread::yield();
#endif
}

}  // namespace

struct ThreadPool::State {
  std::vector<std::thread> workers;
  std::vector<Scratch> scratch;
  bool skips = false;

  // The job: written by the caller while the gate is shut and nobody is inside.
  const std::function<void(int64_t, int64_t, int)>* body = nullptr;
  int64_t count = 0;
  int64_t chunk = 1;
  std::atomic<int64_t> next{0};
  std::atomic<uint32_t> gate{0};  // kOpen, and how many workers are inside
  std::atomic<uint32_t> generation{0};
  std::atomic<bool> stopping{false};
  std::mutex error_lock;
  std::exception_ptr error;

  void run_chunks(int worker) {
    try {
      for (;;) {
        const int64_t begin = next.fetch_add(chunk, std::memory_order_relaxed);
        if (begin >= count) return;
        (*body)(begin, std::min(begin + chunk, count), worker);
      }
    } catch (...) {
      const std::lock_guard lock(error_lock);
      if (!error) error = std::current_exception();
      next.store(count, std::memory_order_relaxed);
    }
  }

  void work(int worker) {
    uint32_t seen = 0;
    for (;;) {
      int spins = 0;
      while (generation.load(std::memory_order_acquire) == seen) {
        if (++spins < kSpins) {
          relax();
        } else {
          generation.wait(seen, std::memory_order_acquire);
        }
      }
      seen = generation.load(std::memory_order_acquire);
      if (stopping.load(std::memory_order_acquire)) return;
      if (!enter()) continue;  // too late: the job is done
      run_chunks(worker);
      if (gate.fetch_sub(1, std::memory_order_acq_rel) == 1) gate.notify_one();
    }
  }

  bool enter() {
    uint32_t seen = gate.load(std::memory_order_acquire);
    while ((seen & kOpen) != 0) {
      if (gate.compare_exchange_weak(seen, seen + 1, std::memory_order_acq_rel, std::memory_order_acquire)) return true;
    }
    return false;
  }

  /// Shuts the gate and waits for those inside.
  void finish() {
    gate.fetch_and(~kOpen, std::memory_order_acq_rel);
    int spins = 0;
    for (uint32_t inside = gate.load(std::memory_order_acquire); inside != 0;
         inside = gate.load(std::memory_order_acquire)) {
      if (++spins < kSpins) {
        relax();
      } else {
        gate.wait(inside, std::memory_order_acquire);
      }
    }
  }
};

ThreadPool::ThreadPool(int threads, Work work) : state_(std::make_unique<State>()) {
  state_->scratch.resize(static_cast<size_t>(std::max(1, threads)));
  state_->skips = work == Work::Skip;
  if (state_->skips) return;
  for (int worker = 1; worker < threads; ++worker) {
    state_->workers.emplace_back([state = state_.get(), worker] { state->work(worker); });
  }
}

ThreadPool::~ThreadPool() {
  state_->stopping.store(true, std::memory_order_release);
  state_->generation.fetch_add(1, std::memory_order_acq_rel);
  state_->generation.notify_all();
  for (std::thread& worker : state_->workers) worker.join();
}

int ThreadPool::size() const { return static_cast<int>(state_->scratch.size()); }

void ThreadPool::parallel_for(int64_t count, int64_t chunk, const std::function<void(int64_t, int64_t, int)>& body) {
  if (count <= 0 || state_->skips) return;
  chunk = std::max<int64_t>(1, chunk);
  State& state = *state_;
  if (state.workers.empty() || count <= chunk) {
    for (int64_t begin = 0; begin < count; begin += chunk) body(begin, std::min(begin + chunk, count), 0);
    return;
  }
  state.body = &body;
  state.count = count;
  state.chunk = chunk;
  state.next.store(0, std::memory_order_relaxed);
  state.gate.store(kOpen, std::memory_order_release);
  state.generation.fetch_add(1, std::memory_order_acq_rel);
  state.generation.notify_all();
  state.run_chunks(0);
  state.finish();
  if (state.error) std::rethrow_exception(std::exchange(state.error, nullptr));
}

float* ThreadPool::scratch(int worker, int64_t count) {
  Scratch& own = state_->scratch[static_cast<size_t>(worker)];
  if (own.count < count) {
    own.memory.reset();
    own.count = 0;
    const size_t bytes = (static_cast<size_t>(count) * sizeof(float) + 63) / 64 * 64;
    own.memory.reset(static_cast<float*>(std::aligned_alloc(64, bytes)));
    if (!own.memory) throw std::bad_alloc();
    own.count = count;
  }
  return own.memory.get();
}

}  // namespace athanor::device::cpu
