// Neighbours vote for their labels; the best labels of each query: larger score first, then smaller
// label. Scores are integers (weight * 2^40), so the order of the atomics does not matter.

#include "power.cuh"

struct Best {
    unsigned long long score;
    int label;  // -1: none
};

__device__ bool precedes(unsigned long long score, int label, const Best& other) {
    return other.label < 0 || score > other.score || (score == other.score && label < other.label);
}

// The first of all threads' bests; blockDim.x is a power of two, 1,024 at most.
__device__ Best first_of_block(Best mine) {
    __shared__ Best bests[1024];
    bests[threadIdx.x] = mine;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) {
            const Best other = bests[threadIdx.x + half];
            if (other.label >= 0 && precedes(other.score, other.label, bests[threadIdx.x])) {
                bests[threadIdx.x] = other;
            }
        }
        __syncthreads();
    }
    const Best first = bests[0];
    __syncthreads();  // everyone has read it before the next round writes
    return first;
}

// Grid: x = queries. One round over the voted labels for each of the k slots.
extern "C" __global__ void vote_topk(
    const long long* __restrict__ ids,             // (queries, neighbours), -1: none
    const double* __restrict__ similarities,       // (queries, neighbours)
    const long long* __restrict__ label_starts,    // (rows + 1)
    const int* __restrict__ label_ids,
    const int neighbours,
    const long long n_labels,
    const long long capacity,                      // most labels that one query can get votes for
    const double alpha,
    const int k,
    unsigned long long* __restrict__ scores,       // (queries, labels): zero, and zero again after
    int* __restrict__ voted,                       // (queries, capacity): buffer
    long long* __restrict__ best_labels,           // (queries, k)
    double* __restrict__ best_scores)              // (queries, k)
{
    const unsigned long long seen = 1ULL << 63;  // marks a label with a vote, even of weight 0
    __shared__ unsigned n_voted;
    const long long query = blockIdx.x;
    scores += query * n_labels;
    voted += query * capacity;
    if (threadIdx.x == 0) {
        n_voted = 0;
    }
    __syncthreads();
    for (int i = threadIdx.x; i < neighbours; i += blockDim.x) {
        const long long row = ids[query * neighbours + i];
        if (row < 0) {
            continue;
        }
        const double weight = power(similarities[query * neighbours + i], alpha);
        const unsigned long long vote = (unsigned long long)rint(weight * 1099511627776.0);  // 2^40
        for (long long at = label_starts[row]; at < label_starts[row + 1]; ++at) {
            const int label = label_ids[at];
            if (!(atomicOr(scores + label, seen) & seen)) {
                voted[atomicAdd(&n_voted, 1u)] = label;
            }
            atomicAdd(scores + label, vote);
        }
    }
    __syncthreads();
    const int count = n_voted;
    Best last = {0, -1};
    int slot = 0;
    for (; slot < k && slot < count; ++slot) {
        Best mine = {0, -1};
        for (int i = threadIdx.x; i < count; i += blockDim.x) {
            const int label = voted[i];
            const unsigned long long score = scores[label] & ~seen;
            const bool ranked = slot > 0 && (score > last.score ||
                                              (score == last.score && label <= last.label));
            if (!ranked && precedes(score, label, mine)) {
                mine = {score, label};
            }
        }
        last = first_of_block(mine);
        if (threadIdx.x == 0) {
            best_labels[query * k + slot] = last.label;
            best_scores[query * k + slot] = (double)last.score * (1.0 / 1099511627776.0);
        }
    }
    for (int rest = slot + threadIdx.x; rest < k; rest += blockDim.x) {
        best_labels[query * k + rest] = -1;
        best_scores[query * k + rest] = 0;
    }
    for (int i = threadIdx.x; i < count; i += blockDim.x) {
        scores[voted[i]] = 0;
    }
}
