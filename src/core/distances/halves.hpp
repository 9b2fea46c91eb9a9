// Numbers in float16 become float32, in which they are compared. No digit is lost, and a NaN keeps its bits.
//
// In:   the bits of the numbers.
// Out:  the same numbers in float32.
#pragma once

#include <cstddef>
#include <cstdint>

namespace obp {

// halves  IN   n
// wide    OUT  n
void widen_halves(const std::uint16_t* halves, std::size_t n, float* wide, int n_threads);

}  // namespace obp
