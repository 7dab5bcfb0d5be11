// Runs CUDA kernels on the CPU, each CUDA thread on a stack of its own.
//
// Normally a CUDA thread is a std::thread, so that sanitizers see every race. SHIM_SEED=n shuffles
// blocks and threads and delays threads around barriers; SHIM_WITHOUT=choose.cuh:50 leaves out the
// barrier of that line, a fault that must be found. With -DFIBERS the threads of a block take turns
// in one std::thread instead, which is a thousand times faster.
//
// Blocks run one after another, because a block's __shared__ variables are plain statics here;
// kernels without any can be launched with all blocks at once (`Blocks::together`).
#pragma once
#include <algorithm>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <csetjmp>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <type_traits>
#include <ucontext.h>
#include <vector>

#ifndef WARP
#define WARP 32  // threads; with fewer, few threads are several warps
#endif
#define __global__
#define __device__
#ifdef COUNTS
#define __shared__ static __attribute__((section("shared_memory")))  // so that they are told apart
#else
#define __shared__ static
#endif
#define __restrict__
#define __launch_bounds__(...)

struct Dim { unsigned x, y; };
struct uint2 { unsigned x, y; };
struct alignas(16) uint4 { unsigned x, y, z, w; };
inline thread_local Dim threadIdx, blockIdx, blockDim, gridDim;

inline const char* setting(const char* name) { const char* found = std::getenv(name); return found ? found : ""; }
inline const unsigned shim_seed = std::atoi(setting("SHIM_SEED"));
inline const std::string left_out = setting("SHIM_WITHOUT");
inline thread_local std::minstd_rand dice;

#ifdef FIBERS
struct Fiber {
    std::jmp_buf state;
    bool is_started = false, is_done = false;
    std::vector<char> stack = std::vector<char>(1 << 16);
};
inline std::deque<Fiber> fibers;  // kept for the next block
inline std::jmp_buf scheduler;
inline unsigned running_fiber;
inline const std::function<void()>* running_kernel;

inline void yield_fiber() {
    const unsigned me = running_fiber;
    if (!_setjmp(fibers[me].state)) _longjmp(scheduler, 1);
    threadIdx = {me, 0};
}
inline void fiber_main() {
    (*running_kernel)();
    fibers[running_fiber].is_done = true;
    _longjmp(scheduler, 1);
}
#endif

class Barrier {
  public:
    explicit Barrier(unsigned size) : size_(size) {}
    unsigned wait(unsigned value = 0) {  // the sum of all values
#ifdef FIBERS
        const unsigned turn = turn_;
        if (!arrive(value)) while (turn_ == turn) yield_fiber();
#else
        std::unique_lock<std::mutex> lock(mutex_);
        const unsigned turn = turn_;
        if (arrive(value)) all_here_.notify_all();
        else all_here_.wait(lock, [&] { return turn_ != turn; });
#endif
        return totals_[turn & 1];
    }

  private:
    bool arrive(unsigned value) {
        total_ += value;
        if (++waiting_ < size_) return false;
        totals_[turn_ & 1] = total_;
        total_ = waiting_ = 0;
        ++turn_;
        return true;
    }
    std::mutex mutex_;
    std::condition_variable all_here_;
    unsigned size_, waiting_ = 0, turn_ = 0, total_ = 0, totals_[2] = {};
};
struct Warp {
    explicit Warp(unsigned size) : barrier(size) {}
    Barrier barrier;
    unsigned long long values[WARP];
};
struct Block {
    explicit Block(unsigned threads) : barrier(threads) {
        for (unsigned first = 0; first < threads; first += WARP) warps.emplace_back(std::min<unsigned>(WARP, threads - first));
    }
    Barrier barrier;
    std::deque<Warp> warps;
};
inline thread_local Block* my_block;
inline unsigned blocks_begun = 0;

inline void dawdle() {  // says nothing to a sanitizer: sleeping orders no memory access
    const unsigned thrown = shim_seed ? dice() % 16 : 0;
    if (thrown == 1) std::this_thread::sleep_for(std::chrono::microseconds(dice() % 50));
    else if (thrown > 12) std::this_thread::yield();
}

inline bool is_left_out(const char* file, int line) {
    const char* name = std::strrchr(file, '/');
    return !left_out.empty() && left_out == std::string(name ? name + 1 : file) + ":" + std::to_string(line);
}
inline void barrier_at(const char* file, int line) {
    if (is_left_out(file, line)) return;
    dawdle();
    my_block->barrier.wait();
    dawdle();
}
#define __syncthreads() barrier_at(__FILE__, __LINE__)
inline int __syncthreads_count(int holds) {
    dawdle();
    const int count = my_block->barrier.wait(holds != 0);
    dawdle();
    return count;
}
template <class T> T __shfl_down_sync(unsigned, T value, unsigned distance) {
    static_assert(sizeof(T) <= 8);
    Warp& warp = my_block->warps[threadIdx.x / WARP];
    const unsigned lane = threadIdx.x % WARP;
    std::memcpy(&warp.values[lane], &value, sizeof(T));
    warp.barrier.wait();
    if (lane + distance < std::min<unsigned>(WARP, blockDim.x)) std::memcpy(&value, &warp.values[lane + distance], sizeof(T));
    warp.barrier.wait();
    return value;
}

template <class T> T atomicAdd(T* at, std::common_type_t<T> value) {
    return __atomic_fetch_add(at, value, __ATOMIC_RELAXED);
}
template <class T> T atomicOr(T* at, std::common_type_t<T> value) {
    return __atomic_fetch_or(at, value, __ATOMIC_RELAXED);
}
template <class T> T atomicCAS(T* at, std::common_type_t<T> expected, std::common_type_t<T> value) {
    __atomic_compare_exchange_n(at, &expected, value, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    return expected;
}
template <class T> T atomicMax(T* at, std::common_type_t<T> value) {
    T found = __atomic_load_n(at, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(at, &found, found < value ? value : found, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {}
    return found;
}
inline long long __double_as_longlong(double x) { long long y; std::memcpy(&y, &x, 8); return y; }
inline double __longlong_as_double(long long x) { double y; std::memcpy(&y, &x, 8); return y; }
inline unsigned __float_as_uint(float x) { unsigned y; std::memcpy(&y, &x, 4); return y; }
inline float __uint_as_float(unsigned x) { float y; std::memcpy(&y, &x, 4); return y; }
inline int __mulhi(int x, int y) { return (int)(((long long)x * y) >> 32); }
inline unsigned __umulhi(unsigned x, unsigned y) { return (unsigned)(((unsigned long long)x * y) >> 32); }
inline int __popc(unsigned x) { return __builtin_popcount(x); }
using std::pow;
using std::rint;
template <class T> T min(T a, T b) { return a < b ? a : b; }
template <class T> T max(T a, T b) { return a > b ? a : b; }

enum class Blocks { in_turn, together };

#ifdef FIBERS
__attribute__((noinline)) inline void resume_fiber() {  // until it waits or is done
    if (_setjmp(scheduler)) return;
    Fiber& fiber = fibers[running_fiber];
    if (fiber.is_started) _longjmp(fiber.state, 1);
    fiber.is_started = true;
    ucontext_t context;
    getcontext(&context);
    context.uc_stack = {fiber.stack.data(), 0, fiber.stack.size()};
    context.uc_link = nullptr;
    makecontext(&context, fiber_main, 0);
    setcontext(&context);
}

inline void launch(Dim grid, unsigned threads, Blocks, const std::function<void()>& kernel) {
    while (fibers.size() < threads) fibers.emplace_back();
    running_kernel = &kernel;
    blockDim = {threads, 1};
    gridDim = grid;
    for (unsigned number = 0; number < grid.x * grid.y; ++number) {
        blockIdx = {number % grid.x, number / grid.x};
        Block block(threads);
        my_block = &block;
        ++blocks_begun;
        for (auto& fiber : fibers) fiber.is_started = fiber.is_done = false;
        for (unsigned done = 0; done < threads;) {
            for (unsigned i = 0; i < threads; ++i) {
                if (fibers[i].is_done) continue;
                running_fiber = i;
                threadIdx = {i, 0};
                resume_fiber();
                done += fibers[i].is_done;
            }
        }
    }
}
#else
inline void launch(Dim grid, unsigned threads, Blocks how, const std::function<void()>& kernel) {
    std::vector<std::unique_ptr<Block>> alive;
    std::vector<std::thread> running;
    const auto join = [&] {
        for (auto& thread : running) thread.join();
        running.clear();
        alive.clear();
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
        auto* of_thread = alive.emplace_back(new Block(threads)).get();
        if (shim_seed) std::shuffle(turns.begin(), turns.end(), order);
        for (const unsigned t : turns) {
            running.emplace_back([=, &kernel] {
                threadIdx = {t, 0};
                blockIdx = block;
                blockDim = {threads, 1};
                gridDim = grid;
                my_block = of_thread;
                dice.seed(shim_seed + 7919 * t + 104729 * (block.x + grid.x * block.y) + 1);
                dawdle();
                kernel();
            });
        }
        if (how == Blocks::in_turn) join();
    }
    join();
}
#endif
