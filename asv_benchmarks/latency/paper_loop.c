/* The paper's algorithm as one would write it in C, for comparison only: float values, a pair
   {sim, count} for every row, one pass over the query's inverted lists, one scan over all rows that
   keeps a heap of the best S. Compiled with gcc -O2 when the benchmark runs. */
#include <math.h>
#include <stdint.h>
#include <string.h>

typedef struct { int32_t row; float value; } posting;
typedef struct { float sim; int32_t count; } pair;
typedef struct { float sim; int32_t row; } place;

static int worse(place a, place b) { return a.sim < b.sim || (a.sim == b.sim && a.row > b.row); }

static void offer(place *heap, int *size, int capacity, place new)
{
    int at;
    if (*size < capacity) {
        for (at = (*size)++; at > 0 && worse(new, heap[(at - 1) / 2]); at = (at - 1) / 2)
            heap[at] = heap[(at - 1) / 2];
        heap[at] = new;
        return;
    }
    if (!worse(heap[0], new))
        return;
    for (at = 0;;) {
        int child = 2 * at + 1;
        if (child >= capacity)
            break;
        if (child + 1 < capacity && worse(heap[child + 1], heap[child]))
            child++;
        if (!worse(heap[child], new))
            break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = new;
}

/* Returns the number of rows found; heap_rows and heap_sims hold them in heap order. */
int paper_search(const int64_t *starts, const posting *lists, const int32_t *row_sizes, int64_t n_rows,
                 const int32_t *indices, const float *values, int64_t size, int n_neighbors,
                 double beta, pair *pairs, int32_t *heap_rows, float *heap_sims, place *heap)
{
    int found = 0;
    memset(pairs, 0, n_rows * sizeof(pair));
    for (int64_t q = 0; q < size; q++) {
        const float value = values[q];
        for (int64_t p = starts[indices[q]]; p < starts[indices[q] + 1]; p++) {
            pair *at = &pairs[lists[p].row];
            at->sim += value * lists[p].value;
            at->count++;
        }
    }
    for (int64_t row = 0; row < n_rows; row++) {
        float sim = pairs[row].sim;
        if (sim <= 0)
            continue;
        if (beta == 1)
            sim *= (float)pairs[row].count / (float)(size + row_sizes[row] - pairs[row].count);
        else if (beta != 0)
            sim *= powf((float)pairs[row].count / (float)(size + row_sizes[row] - pairs[row].count), beta);
        if (found < n_neighbors || sim > heap[0].sim) {
            place new = {sim, (int32_t)row};
            offer(heap, &found, n_neighbors, new);
        }
    }
    for (int i = 0; i < found; i++) {
        heap_rows[i] = heap[i].row;
        heap_sims[i] = heap[i].sim;
    }
    return found;
}
