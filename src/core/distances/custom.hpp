// A dissimilarity that the user compiled, and that is called through a pointer to it.
#pragma once

#include <cstddef>

namespace obp {

class CustomMetric {
public:
    using Function = double (*)(const double* a, const double* b, std::ptrdiff_t n);
    using FunctionWithData = double (*)(const double* a, const double* b, std::ptrdiff_t n, void* data);

    explicit CustomMetric(Function function) : function_(function) {}
    CustomMetric(FunctionWithData function, void* data) : function_with_data_(function), data_(data) {}

    // rows        IN   n_rows x n_features
    // columns     IN   n_columns x n_features
    // rows_first       whether the function is called with (row, column) or with (column, row)
    // out         OUT  n_rows x n_columns
    void fill(const double* rows, std::size_t n_rows, const double* columns, std::size_t n_columns,
              std::size_t n_features, bool rows_first, double* out, int n_threads) const;

private:
    double compare(const double* a, const double* b, std::size_t n_features) const;

    Function function_ = nullptr;
    FunctionWithData function_with_data_ = nullptr;
    void* data_ = nullptr;
};

}  // namespace obp
