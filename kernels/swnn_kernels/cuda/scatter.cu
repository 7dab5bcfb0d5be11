// Dot products and overlaps of a few queries with all training rows, over inverted lists.
//
// One 64-bit sum per (query, row): every shared feature adds the product of its quantised values
// times 2^16, plus 1, so the low 16 bits count the overlap and the rest is the dot product. Integer
// sums do not depend on the order in which the atomics arrive. Overlaps must stay below 65,536: the
// caller sees to it.

// Grid: x = stored entries of the queries, y = blocks that share one entry's list.
extern "C" __global__ void scatter(
    const long long* __restrict__ list_starts,     // (features + 1)
    const int* __restrict__ list_rows,             // (entries): rows that have the feature
    const int* __restrict__ list_quantised,        // (entries): their quantised values
    const long long* __restrict__ query_starts,    // (queries + 1), from 0
    const int* __restrict__ query_features,        // (gridDim.x)
    const int* __restrict__ query_quantised,       // (gridDim.x)
    const long long n_rows,
    unsigned long long* __restrict__ sums)         // (queries, rows), zero at the start
{
    const long long entry = blockIdx.x;
    long long query = 0;
    while (query_starts[query + 1] <= entry) {
        ++query;
    }
    const int feature = query_features[entry];
    const long long weight = query_quantised[entry] * 65536LL;
    const long long stop = list_starts[feature + 1];
    const long long step = (long long)gridDim.y * blockDim.x;
    unsigned long long* mine = sums + query * n_rows;
    for (long long i = list_starts[feature] + (long long)blockIdx.y * blockDim.x + threadIdx.x;
         i < stop; i += step) {
        atomicAdd(mine + list_rows[i], (unsigned long long)(weight * list_quantised[i] + 1));
    }
}
