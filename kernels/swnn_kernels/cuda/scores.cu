// Scores of candidates, in steps of 2^-38, and the best of them: larger score first, then smaller
// label. A score is one entry of each table, plus the label's bias (0 where training left it alone)
// and, where it has a model, the product of its weights and the query. All are integers.

#include "choose.cuh"
#include "hash.cuh"
#include "warp.cuh"

#ifndef FEATURE_SLOTS  // the query's features by hash: 16 KB of shared memory
#define FEATURE_SLOTS 2048
#endif

// Some features of a query, at most one for two slots.
struct Features {
    int slots;
    int* features;  // (slots), -1: free
    int* values;    // (slots)
};

// All threads wait before the features before these are dropped, and until these are there.
__device__ Features load(const int* features, const int* values, int count) {
    __shared__ int held_features[FEATURE_SLOTS], held_values[FEATURE_SLOTS];
    const Features held = {max(1, min(FEATURE_SLOTS, 4 * count)), held_features, held_values};
    __syncthreads();
    for (int i = threadIdx.x; i < held.slots; i += blockDim.x) {
        held.features[i] = -1;
    }
    __syncthreads();
    for (int i = threadIdx.x; i < count; i += blockDim.x) {
        int slot = hashed(features[i], held.slots);
        while (atomicCAS(held.features + slot, -1, features[i]) >= 0) {
            slot = next(slot, held.slots);
        }
        held.values[slot] = values[i];
    }
    __syncthreads();
    return held;
}

__device__ int value_of(const Features& held, int feature) {
    int slot = hashed(feature, held.slots);
    while (held.features[slot] >= 0 && held.features[slot] != feature) {
        slot = next(slot, held.slots);
    }
    return held.features[slot] < 0 ? 0 : held.values[slot];
}

// Grid: x = queries. blockDim.x is below 32, or a multiple of it.
extern "C" __global__ void score_candidates(
    const int* __restrict__ labels,                // (queries, candidates), -1: none
    const unsigned short* __restrict__ bins,       // (queries, candidates, tables)
    const long long* __restrict__ query_starts,    // (queries + 1)
    const int* __restrict__ query_features,
    const int* __restrict__ query_quantised,
    const long long* __restrict__ model_starts,    // (modelled labels + 1)
    const int* __restrict__ model_features,
    const short* __restrict__ model_weights,
    const long long* __restrict__ biases,          // (modelled labels)
    const unsigned char* __restrict__ modelled,    // (modelled labels): 0 where the tables are all
    const long long* __restrict__ tables,          // (2, tables, bins): without a model, with one
    const int candidates,
    const int n_tables,
    const long long n_modelled,
    const int shift,                               // a product's step over that of a score
    const int k,
    unsigned long long* __restrict__ scores,       // (queries, candidates): buffer
    unsigned long long* __restrict__ best_keys,    // (queries, k): buffer
    int* __restrict__ chosen_labels,               // (queries, k): buffer
    long long* __restrict__ best_labels,           // (queries, k)
    double* __restrict__ best_scores)              // (queries, k)
{
    const int n_bins = (10 << 7) + 1;
    const Key sign = 1ULL << 63;  // turns signed scores into keys of the same order
    const long long query = blockIdx.x, start = query_starts[query], stop = query_starts[query + 1];
    labels += query * candidates;
    bins += query * candidates * n_tables;
    scores += query * candidates;
    const int width = warp_width(), lane = threadIdx.x % width;
    long long first = start, last = 0;
    do {
        last = min(stop, first + FEATURE_SLOTS / 2);
        const Features held = load(query_features + first, query_quantised + first, (int)(last - first));
        // A warp walks the weights of one candidate.
        for (int i = threadIdx.x / width; i < candidates; i += blockDim.x / width) {
            const int label = labels[i];
            const bool known = label >= 0 && label < n_modelled && modelled[label];
            Key sum = 0;
            for (int table = lane; table < n_tables && label >= 0 && first == start; table += width) {
                const int bin = bins[(long long)i * n_tables + table];
                sum += (Key)tables[(long long)((known ? n_tables : 0) + table) * n_bins + bin];
            }
            if (known) {
                long long product = 0;
                for (long long at = model_starts[label] + lane; at < model_starts[label + 1]; at += width) {
                    product += (long long)model_weights[at] * value_of(held, model_features[at]);
                }
                sum += (Key)product << shift;
            }
            sum = sum_of_warp(sum);
            if (lane == 0 && label < 0) {
                scores[i] = 0;
            } else if (lane == 0) {
                const Key before = label < n_modelled ? (Key)biases[label] ^ sign : sign;
                scores[i] = sum + (first == start ? before : scores[i]);
            }
        }
        first = last;
    } while (first < stop);
    const long long out = query * k;
    choose(scores, labels, 0, candidates, k, best_keys + out, chosen_labels + out);
    const int most = min(k, candidates);
    for (int i = threadIdx.x; i < k; i += blockDim.x) {
        const Key key = best_keys[out + i];
        const int at = rank_of(best_keys + out, chosen_labels + out, most, i);
        best_labels[out + at] = chosen_labels[out + i];
        best_scores[out + at] = key ? (double)(long long)(key ^ sign) * (1.0 / 274877906944.0) : 0;  // 2^-38
    }
}
