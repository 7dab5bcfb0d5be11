// Runs CUDA kernels on the CPU: one std::thread per CUDA thread, so that sanitizers see every race.
//
// Blocks run one after another, because a block's __shared__ variables are plain statics here;
// kernels without any can be launched with all blocks at once (`Blocks::together`).
#pragma once
#include <cmath>
#include <condition_variable>
#include <cstring>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#define __global__
#define __device__
#define __shared__ static
#define __restrict__

struct Dim { unsigned x, y; };
inline thread_local Dim threadIdx, blockIdx, blockDim, gridDim;

class Barrier {
  public:
    explicit Barrier(unsigned size) : size_(size) {}
    void wait() {
        std::unique_lock<std::mutex> lock(mutex_);
        const unsigned turn = turn_;
        if (++waiting_ == size_) {
            waiting_ = 0;
            ++turn_;
            all_here_.notify_all();
        } else {
            all_here_.wait(lock, [&] { return turn_ != turn; });
        }
    }

  private:
    std::mutex mutex_;
    std::condition_variable all_here_;
    unsigned size_, waiting_ = 0, turn_ = 0;
};
inline thread_local Barrier* barrier_of_block;

inline void __syncthreads() { barrier_of_block->wait(); }

template <class T, class V> T atomicAdd(T* at, V value) {
    return __atomic_fetch_add(at, (T)value, __ATOMIC_RELAXED);
}
template <class T, class V> T atomicOr(T* at, V value) {
    return __atomic_fetch_or(at, (T)value, __ATOMIC_RELAXED);
}
inline long long __double_as_longlong(double x) { long long y; std::memcpy(&y, &x, 8); return y; }
inline double __longlong_as_double(long long x) { double y; std::memcpy(&y, &x, 8); return y; }
using std::pow;
using std::rint;
inline int min(int a, int b) { return a < b ? a : b; }

enum class Blocks { in_turn, together };

inline void launch(Dim grid, unsigned threads, Blocks how, const std::function<void()>& kernel) {
    std::vector<Barrier*> barriers;
    std::vector<std::thread> running;
    const auto join = [&] {
        for (auto& thread : running) thread.join();
        for (auto* barrier : barriers) delete barrier;
        running.clear();
        barriers.clear();
    };
    for (unsigned y = 0; y < grid.y; ++y) {
        for (unsigned x = 0; x < grid.x; ++x) {
            auto* barrier = new Barrier(threads);
            barriers.push_back(barrier);
            for (unsigned t = 0; t < threads; ++t) {
                running.emplace_back([=, &kernel] {
                    threadIdx = {t, 0};
                    blockIdx = {x, y};
                    blockDim = {threads, 1};
                    gridDim = grid;
                    barrier_of_block = barrier;
                    kernel();
                });
            }
            if (how == Blocks::in_turn) join();
        }
    }
    join();
}
