// Votes of a query's neighbours for their labels, in a hash table: in shared memory if it fits, else
// in global memory. Votes are integers (weight * 2^40), so the order of the atomics does not matter.

#include "choose.cuh"
#include "hash.cuh"
#include "power.cuh"
#include "warp.cuh"

#ifndef POOL  // `tally.py` decides
#define POOL 3072
#endif

const int TRIED = 8;    // times its room that shared memory is tried for
const int PROBES = 32;  // slots that are tried for a label there

// Labels by hash; votes are those of the first neighbours, up to each cut.
struct Tally {
    int slots, n_cuts;
    int* taken;   // how many slots are; more than there are if a label found none
    Key* sums;    // (cuts, slots); those of the last cut are one larger where there is a vote
    Key* totals;  // (cuts): votes of all neighbours
    int* labels;  // (slots), -1: free
    int* places;  // (slots), 0 at first: for callers
};

// Slot of a label, which takes a free one if it has none; -1 if none of so many is free.
__device__ int take_slot(const Tally& tally, int label, int probes) {
    int slot = hashed(label, tally.slots);
    for (; probes > 0; --probes) {
        const int found = atomicCAS(tally.labels + slot, -1, label);
        if (found < 0) {
            atomicAdd(tally.taken, 1);
        }
        if (found < 0 || found == label) {
            return slot;
        }
        slot = next(slot, tally.slots);
    }
    atomicAdd(tally.taken, tally.slots);
    return -1;
}

// Slot of a label that has one.
__device__ int slot_of(const Tally& tally, int label) {
    int slot = hashed(label, tally.slots);
    while (tally.labels[slot] != label) {
        slot = next(slot, tally.slots);
    }
    return slot;
}

// Keys by which labels are chosen: a vote of weight 0 is a vote.
__device__ Key* keys_of(const Tally& tally) {
    return tally.sums + (long long)(tally.n_cuts - 1) * tally.slots;
}

// Votes of the label at a slot up to a cut.
__device__ Key votes_at(const Tally& tally, int slot, int cut) {
    const Key sum = tally.sums[(long long)cut * tally.slots + slot];
    return cut == tally.n_cuts - 1 && sum ? sum - 1 : sum;
}

// An empty table, in shared memory or in `pool`. It is cleared without waiting.
__device__ Tally make_tally(long long slots, int n_cuts, Key* pool) {
    __shared__ Key shared[POOL];
    __shared__ int taken;
    Tally tally;
    tally.slots = (int)slots;
    tally.n_cuts = n_cuts;
    tally.taken = &taken;
    tally.sums = pool ? pool : shared;
    tally.totals = tally.sums + n_cuts * slots;
    tally.labels = (int*)(tally.totals + n_cuts);
    tally.places = tally.labels + slots;
    for (long long i = threadIdx.x; i < n_cuts * slots + n_cuts; i += blockDim.x) {
        tally.sums[i] = 0;
    }
    for (int i = threadIdx.x; i < slots; i += blockDim.x) {
        tally.labels[i] = -1;
        tally.places[i] = 0;
    }
    if (threadIdx.x == 0) {
        taken = 0;
    }
    return tally;
}

// A query's neighbours, best first, and the labels of all rows.
struct Voters {
    const long long* ids;
    const double* similarities;
    int count;
    const long long* label_starts;
    const int* label_ids;
    long long n_labels;
};

// Add each neighbour's votes to the first cut that it counts at.
__device__ void add_votes(const Tally& tally, const Voters& voters, const long long* cuts, double alpha,
                          int probes) {
    const int width = warp_width(), lane = threadIdx.x % width;
    for (int i = threadIdx.x / width; i < voters.count && voters.ids[i] >= 0; i += blockDim.x / width) {
        const long long row = voters.ids[i];
        int cut = 0;
        while (i >= cuts[cut]) {
            ++cut;
        }
        const double weight = power(voters.similarities[i], alpha);
        const Key votes = (Key)rint(weight * 1099511627776.0);  // 2^40
        if (lane == 0) {
            atomicAdd(tally.totals + cut, votes);
        }
        const long long stop = voters.label_starts[row + 1];
        for (long long at = voters.label_starts[row] + lane; at < stop; at += width) {
            const int slot = take_slot(tally, voters.label_ids[at], probes);
            if (slot >= 0) {
                atomicAdd(tally.sums + (long long)cut * tally.slots + slot, votes);
            }
        }
    }
}

// Let the neighbours vote, and leave room for `more` labels. Threads return as soon as they have
// written their sums and totals.
//
// Shared memory is tried if it can have room: neighbours have many labels in common.
__device__ Tally vote(const Voters& voters, const long long* cuts, int n_cuts, double alpha, int more,
                      Key* pool) {
    __shared__ Key n_votes;
    if (threadIdx.x == 0) {
        n_votes = 0;
    }
    __syncthreads();
    for (int i = threadIdx.x; i < voters.count; i += blockDim.x) {
        const long long row = voters.ids[i];
        if (row >= 0) {
            atomicAdd(&n_votes, (Key)(voters.label_starts[row + 1] - voters.label_starts[row]));
        }
    }
    __syncthreads();
    const long long most = min((long long)n_votes, voters.n_labels) + more;
    const long long needed = most + most / 4 + 1, room = (POOL - n_cuts) / (n_cuts + 1);
    bool is_shared = needed <= TRIED * room;
    Tally tally;
    for (;;) {
        tally = make_tally(is_shared ? min(room, 2 * most + 1) : needed, n_cuts, is_shared ? nullptr : pool);
        __syncthreads();
        add_votes(tally, voters, cuts, alpha, needed <= room || !is_shared ? tally.slots : PROBES);
        __syncthreads();
        if (needed <= room || !is_shared || *tally.taken + more <= tally.slots - tally.slots / 8) {
            break;
        }
        is_shared = false;
        __syncthreads();
    }
    for (int i = threadIdx.x; i < tally.slots; i += blockDim.x) {
        Key sum = tally.labels[i] >= 0 ? tally.sums[i] : 0;
        for (int cut = 1; cut < n_cuts && tally.labels[i] >= 0; ++cut) {
            sum = tally.sums[(long long)cut * tally.slots + i] += sum;
        }
        keys_of(tally)[i] = tally.labels[i] >= 0 ? sum + 1 : 0;
    }
    if (threadIdx.x == 0) {
        for (int cut = 1; cut < n_cuts; ++cut) {
            tally.totals[cut] += tally.totals[cut - 1];
        }
    }
    return tally;
}
