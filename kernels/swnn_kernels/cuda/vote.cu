// Neighbours vote for their labels; the best labels of each query: larger score first, then smaller
// label.

#include "votes.cuh"

// Grid: x = blocks that share the queries.
extern "C" __global__ void vote_topk(
    const long long* __restrict__ ids,             // (queries, neighbours), best first; -1: none
    const double* __restrict__ similarities,       // (queries, neighbours)
    const long long* __restrict__ label_starts,    // (rows + 1)
    const int* __restrict__ label_ids,
    const int n_queries,
    const int neighbours,
    const long long n_labels,
    const double alpha,
    const int k,
    unsigned long long* __restrict__ pools,        // (gridDim.x, pool_words), where shared memory is short
    const long long pool_words,
    unsigned long long* __restrict__ best_keys,    // (queries, k): buffer
    int* __restrict__ chosen_labels,               // (queries, k): buffer
    long long* __restrict__ best_labels,           // (queries, k), -1: none
    double* __restrict__ best_scores)              // (queries, k)
{
    const long long cut = neighbours;
    for (long long query = blockIdx.x; query < n_queries; query += gridDim.x) {
        const long long from = query * neighbours, out = query * k;
        const Voters voters = {ids + from, similarities + from, neighbours, label_starts, label_ids, n_labels};
        const Tally tally = vote(voters, &cut, 1, alpha, 0, pools + blockIdx.x * pool_words);
        choose(keys_of(tally), tally.labels, 0, tally.slots, k, best_keys + out, chosen_labels + out);
        const int most = min(k, tally.slots);
        for (int i = threadIdx.x; i < k; i += blockDim.x) {
            const Key key = best_keys[out + i];
            const int at = rank_of(best_keys + out, chosen_labels + out, most, i);
            best_labels[out + at] = chosen_labels[out + i];
            best_scores[out + at] = key ? (double)(key - 1) * (1.0 / 1099511627776.0) : 0;
        }
    }
}
