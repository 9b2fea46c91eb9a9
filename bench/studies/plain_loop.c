// FasterPAM without anything around it, for `python -m bench small`: what a small fit costs at least in plain C.
//
// It has one thread, no checks and no weights, and k is at least 2. Distances are a matrix in float32, row by row.

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double tolerance = 1e-6;  // a swap must lower the loss by more than this fraction, as in FasterPAM

typedef struct {
    long n, k;
    const float* distances;
    long* medoids;
    int *nearest, *second;  // slots of the two medoids that are nearest to each point
    float *d1, *d2;         // their distances
    double* removal;        // what the loss would fall by without each medoid: never positive
    double loss;
} Clustering;

void fill_distances(const float* rows, long n, long p, float* distances) {
    for (long i = 0; i < n; i++) {
        for (long j = 0; j < n; j++) {
            float sum = 0;
            for (long f = 0; f < p; f++) {
                const float difference = rows[i * p + f] - rows[j * p + f];
                sum += difference * difference;
            }
            distances[i * n + j] = sqrtf(sum);
        }
    }
}

static void find_two_nearest(Clustering* c, long j) {
    c->d1[j] = c->d2[j] = INFINITY;
    c->nearest[j] = c->second[j] = 0;
    for (int slot = 0; slot < c->k; slot++) {
        const float d = c->distances[c->medoids[slot] * c->n + j];
        if (d < c->d1[j]) {
            c->d2[j] = c->d1[j], c->second[j] = c->nearest[j];
            c->d1[j] = d, c->nearest[j] = slot;
        } else if (d < c->d2[j]) {
            c->d2[j] = d, c->second[j] = slot;
        }
    }
}

static void sum_losses(Clustering* c) {
    c->loss = 0;
    memset(c->removal, 0, c->k * sizeof *c->removal);
    for (long j = 0; j < c->n; j++) {
        c->loss += c->d1[j];
        c->removal[c->nearest[j]] += (double)c->d1[j] - c->d2[j];
    }
}

// Return the slot whose medoid the candidate should replace, or -1; `gains` is room for a number for each slot.
static int find_slot(const Clustering* c, long candidate, double* gains) {
    const float* row = c->distances + candidate * c->n;
    double gain_of_all = 0;
    memcpy(gains, c->removal, c->k * sizeof *gains);
    for (long j = 0; j < c->n; j++) {
        if (row[j] < c->d1[j]) {
            gain_of_all += (double)c->d1[j] - row[j];
            gains[c->nearest[j]] += (double)c->d2[j] - c->d1[j];
        } else if (row[j] < c->d2[j]) {
            gains[c->nearest[j]] += (double)c->d2[j] - row[j];
        }
    }
    int best = 0;
    for (int slot = 1; slot < c->k; slot++) best = gains[slot] > gains[best] ? slot : best;
    return gain_of_all + gains[best] > tolerance * c->loss ? best : -1;
}

static void swap(Clustering* c, int slot, long candidate) {
    const float* row = c->distances + candidate * c->n;
    c->medoids[slot] = candidate;
    for (long j = 0; j < c->n; j++) {
        if (c->nearest[j] == slot || c->second[j] == slot) {
            find_two_nearest(c, j);
        } else if (row[j] < c->d1[j]) {
            c->d2[j] = c->d1[j], c->second[j] = c->nearest[j];
            c->d1[j] = row[j], c->nearest[j] = slot;
        } else if (row[j] < c->d2[j]) {
            c->d2[j] = row[j], c->second[j] = slot;
        }
    }
    sum_losses(c);
}

static int is_medoid(const Clustering* c, long candidate) {
    for (int slot = 0; slot < c->k; slot++) {
        if (c->medoids[slot] == candidate) return 1;
    }
    return 0;
}

// Swap medoids until no candidate lowers the loss, write the label of each point, and return the loss.
double search(const float* distances, long n, long k, long* medoids, int* labels) {
    int* second = malloc(n * sizeof *second);
    float* d1 = malloc(2 * n * sizeof *d1);
    double* removal = malloc(2 * k * sizeof *removal);
    Clustering c = {n, k, distances, medoids, labels, second, d1, d1 + n, removal, NAN};
    if (second && d1 && removal) {
        for (long j = 0; j < n; j++) find_two_nearest(&c, j);
        sum_losses(&c);
        for (long candidate = 0, idle = 0; idle < n; candidate = (candidate + 1) % n) {
            const int slot = is_medoid(&c, candidate) ? -1 : find_slot(&c, candidate, removal + k);
            if (slot >= 0) swap(&c, slot, candidate);
            idle = slot >= 0 ? 0 : idle + 1;
        }
    }
    free(second), free(d1), free(removal);
    return c.loss;
}
