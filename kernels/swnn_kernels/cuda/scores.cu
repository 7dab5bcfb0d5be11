// Scores of candidates, in steps of 2^-38, and the best of them: larger score first, then smaller
// label. A score is one table entry for each cut, by the label's share of the votes, plus its bias
// (0 where training left it alone) and, where it has a model, the product of its weights and the
// query. All are integers, so the order of the atomics does not matter.

#include "choose.cuh"

// Bin of a share: the leading bits of share + 2^-10, as in swnn_kernels/learn/candidates.py.
__device__ int bin_of(unsigned long long votes, unsigned long long total) {
    const int last = 10 << 7;
    const double share = total ? (double)(long long)votes / (double)(long long)total : 0.0;
    const long long bin = (__double_as_longlong(share + 1.0 / 1024.0) >> 45) - ((1023 - 10) << 7);
    return bin < 0 ? 0 : bin > last ? last : (int)bin;
}

// Grid: x = queries. blockDim.x is below 32, or a multiple of it.
extern "C" __global__ void score_candidates(
    const int* __restrict__ labels,                // (queries, candidates), -1: none
    const unsigned long long* __restrict__ votes,  // (queries, candidates, cuts)
    const unsigned long long* __restrict__ totals, // (queries, cuts)
    const long long* __restrict__ query_starts,    // (queries + 1), from 0
    const int* __restrict__ query_features,
    const int* __restrict__ query_quantised,
    const long long* __restrict__ model_starts,    // (modelled labels + 1)
    const int* __restrict__ model_features,
    const short* __restrict__ model_weights,
    const long long* __restrict__ biases,          // (modelled labels)
    const unsigned char* __restrict__ modelled,    // (modelled labels): 0 where the vote is all
    const long long* __restrict__ tables,          // (2, cuts, bins): without a model, with one
    const int candidates,
    const int n_cuts,
    const long long n_modelled,
    const long long n_features,
    const int shift,                               // a product's step over that of a score
    const int k,
    int* __restrict__ scattered,                   // (queries, features): zero, and zero again after
    unsigned long long* __restrict__ scores,       // (queries, candidates): zero at the start
    unsigned long long* __restrict__ best_keys,    // (queries, k): buffer
    int* __restrict__ chosen_labels,               // (queries, k): buffer
    long long* __restrict__ best_labels,           // (queries, k)
    double* __restrict__ best_scores)              // (queries, k)
{
    const int n_bins = (10 << 7) + 1;
    const Key sign = 1ULL << 63;  // turns signed scores into keys of the same order
    const long long query = blockIdx.x;
    labels += query * candidates;
    votes += query * candidates * n_cuts;
    totals += query * n_cuts;
    scores += query * candidates;
    scattered += query * n_features;
    for (long long at = query_starts[query] + threadIdx.x; at < query_starts[query + 1]; at += blockDim.x) {
        scattered[query_features[at]] = query_quantised[at];
    }
    __syncthreads();
    // As many threads as a warp has walk the weights of one candidate.
    const int width = blockDim.x < 32 ? blockDim.x : 32;
    const int lane = threadIdx.x % width;
    for (int i = threadIdx.x / width; i < candidates; i += blockDim.x / width) {
        const long long label = labels[i];
        if (label < 0) {
            continue;
        }
        const bool known = label < n_modelled && modelled[label];
        unsigned long long sum = 0;
        for (int cut = lane; cut < n_cuts; cut += width) {
            const int bin = bin_of(votes[(long long)i * n_cuts + cut], totals[cut]);
            sum += (unsigned long long)tables[(long long)((known ? n_cuts : 0) + cut) * n_bins + bin];
        }
        if (known) {
            long long product = 0;
            for (long long at = model_starts[label] + lane; at < model_starts[label + 1]; at += width) {
                product += (long long)model_weights[at] * scattered[model_features[at]];
            }
            sum += (unsigned long long)product << shift;
        }
        if (lane == 0 && label < n_modelled) {
            sum += (unsigned long long)biases[label];
        }
        atomicAdd(scores + i, sum);
    }
    __syncthreads();
    for (int i = threadIdx.x; i < candidates; i += blockDim.x) {
        scores[i] = labels[i] < 0 ? 0 : scores[i] ^ sign;
    }
    const long long out = query * k;
    choose(scores, labels, 0, candidates, k, best_keys + out, chosen_labels + out);
    for (int i = threadIdx.x; i < k; i += blockDim.x) {
        const Key key = best_keys[out + i];
        const int at = rank_of(best_keys + out, chosen_labels + out, k, i);
        best_labels[out + at] = chosen_labels[out + i];
        best_scores[out + at] = key ? (double)(long long)(key ^ sign) * (1.0 / 274877906944.0) : 0;  // 2^-38
    }
    for (long long at = query_starts[query] + threadIdx.x; at < query_starts[query + 1]; at += blockDim.x) {
        scattered[query_features[at]] = 0;
    }
}
