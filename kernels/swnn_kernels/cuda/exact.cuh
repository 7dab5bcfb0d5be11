// Exact similarities, to the bit, and how they are compared.

#include "choose.cuh"
#include "power.cuh"
#include "warp.cuh"

// What a row and a query share.
struct Shared {
    long long dot;
    int overlap;
};

// A warp looks up a row's features among those of a query, which ascend; its first thread knows.
__device__ Shared shared_features(const int* row_features, const int* row_quantised, int row_size,
                                  const int* query_features, const int* query_quantised, int query_size) {
    const int width = warp_width();
    Shared sums = {0, 0};
    for (int i = threadIdx.x % width; i < row_size; i += width) {
        const int feature = row_features[i];
        int low = 0;
        for (int high = query_size; low < high;) {
            const int middle = (low + high) / 2;
            if (query_features[middle] < feature) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        if (low < query_size && query_features[low] == feature) {
            sums.dot += (long long)row_quantised[i] * query_quantised[low];
            ++sums.overlap;
        }
    }
    sums.dot = sum_of_warp(sums.dot);
    sums.overlap = sum_of_warp(sums.overlap);
    return sums;
}

// A similarity by its bits, which order like the number; 0 unless it is above 0.
__device__ Key similarity_key(const Shared& shared, double query_size, double row_size, double beta) {
    const double cosine = (double)shared.dot * (1.0 / 70368744177664.0);  // 2^-46
    double similarity = cosine;
    if (beta != 0 && shared.overlap) {
        const double overlap = (double)shared.overlap;
        similarity = cosine * power(overlap / (query_size + row_size - overlap), beta);
    }
    return similarity > 0 ? (Key)__double_as_longlong(similarity) : 0;
}
