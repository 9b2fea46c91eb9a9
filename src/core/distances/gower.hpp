// Gower dissimilarities of many rows to a fixed set of columns. The caller encodes features of every kind as floats, so
// that two rows differ in a feature by min(|a - b|, 1); NaN stands for a missing value, infinity for a 0 that does not
// count if both rows have it. The dissimilarity is the weighted mean over the features that count. If there is none, it
// is 0 if both rows are infinite in some feature, else 1.
#pragma once

#include <cstddef>
#include <vector>

#include "kernels/table.hpp"

namespace obp {

class GowerColumns {
public:
    // points   IN  n_columns x n_features
    // weights  IN  n_features
    GowerColumns(const float* points, std::size_t n_columns, std::size_t n_features, const float* weights);

    // rows  IN   n_rows x n_features
    // out   OUT  n_rows x n_columns, the rows out_stride entries apart
    void fill(const float* rows, std::size_t n_rows, float* out, std::size_t out_stride, int n_threads) const;

    std::size_t n_columns() const { return n_columns_; }
    std::size_t n_features() const { return weights_.size(); }

private:
    const GowerKernel* kernel_;
    std::size_t n_columns_;
    std::vector<float> weights_;
    std::vector<unsigned char> panels_;
};

}  // namespace obp
