// What the threads of a warp have together; a block smaller than a warp is one.

#ifndef WARP
#define WARP 32
#endif

__device__ int warp_width() {
    return min(blockDim.x, (unsigned)WARP);
}

// The sum of all threads' values, for the first thread of each warp.
template <class T> __device__ T sum_of_warp(T value) {
    const int width = warp_width();
    const unsigned all = width == 32 ? ~0u : (1u << width) - 1;
    for (int distance = width / 2; distance > 0; distance /= 2) {
        value += __shfl_down_sync(all, value, distance);
    }
    return value;
}
