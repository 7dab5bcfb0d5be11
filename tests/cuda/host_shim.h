// Runs CUDA kernels on the CPU: one std::thread per CUDA thread, so that sanitizers see every race.
//
// Blocks run one after another, because a block's __shared__ variables are plain statics here;
// kernels without any can be launched with all blocks at once (`Blocks::together`). SHIM_SEED=n
// shuffles blocks and threads and delays threads around barriers; SHIM_WITHOUT=choose.cuh:50 leaves
// out the barrier of that line, a fault that must be found.
#pragma once
#include <algorithm>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <mutex>
#include <random>
#include <string>
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

inline const char* setting(const char* name) { const char* found = std::getenv(name); return found ? found : ""; }
inline const unsigned shim_seed = std::atoi(setting("SHIM_SEED"));
inline const std::string left_out = setting("SHIM_WITHOUT");
inline thread_local std::minstd_rand dice;

inline void dawdle() {  // says nothing to a sanitizer: sleeping orders no memory access
    const unsigned thrown = shim_seed ? dice() % 16 : 0;
    if (thrown == 1) std::this_thread::sleep_for(std::chrono::microseconds(dice() % 50));
    else if (thrown > 12) std::this_thread::yield();
}

inline void barrier_at(const char* file, int line) {
    const char* name = std::strrchr(file, '/');
    if (!left_out.empty() && left_out == std::string(name ? name + 1 : file) + ":" + std::to_string(line)) {
        return;
    }
    dawdle();
    barrier_of_block->wait();
    dawdle();
}
#define __syncthreads() barrier_at(__FILE__, __LINE__)

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
    std::minstd_rand order(shim_seed + 1);
    std::vector<Dim> blocks;
    std::vector<unsigned> turns(threads);
    for (unsigned t = 0; t < threads; ++t) turns[t] = t;
    for (unsigned y = 0; y < grid.y; ++y) {
        for (unsigned x = 0; x < grid.x; ++x) blocks.push_back({x, y});
    }
    if (shim_seed) std::shuffle(blocks.begin(), blocks.end(), order);
    for (const Dim block : blocks) {
        auto* barrier = new Barrier(threads);
        barriers.push_back(barrier);
        if (shim_seed) std::shuffle(turns.begin(), turns.end(), order);
        for (const unsigned t : turns) {
            running.emplace_back([=, &kernel] {
                threadIdx = {t, 0};
                blockIdx = block;
                blockDim = {threads, 1};
                gridDim = grid;
                barrier_of_block = barrier;
                dice.seed(shim_seed + 7919 * t + 104729 * (block.x + grid.x * block.y) + 1);
                dawdle();
                kernel();
            });
        }
        if (how == Blocks::in_turn) join();
    }
    join();
}
