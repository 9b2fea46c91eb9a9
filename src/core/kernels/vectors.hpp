// The vector types of one SIMD level, which are those of the compiler, and the few operations that the compiler lacks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace obp {
namespace OBP_LEVEL {

#if defined(__AVX512BW__)
constexpr std::size_t vector_bytes = 64;
constexpr int vectors_per_panel = 4;
#elif defined(__AVX2__)
constexpr std::size_t vector_bytes = 32;
constexpr int vectors_per_panel = 2;
#elif defined(__aarch64__)
constexpr std::size_t vector_bytes = 16;
constexpr int vectors_per_panel = 4;
#else
constexpr std::size_t vector_bytes = 16;
constexpr int vectors_per_panel = 2;
#endif

constexpr bool has_32_registers = vectors_per_panel == 4;

template <class T, std::size_t n>
struct ArrayType {
    typedef T type __attribute__((vector_size(n * sizeof(T))));
};
// A vector with n lanes, wider or narrower than a register if need be, because a conversion keeps the number of lanes.
template <class T, std::size_t n>
using Array = typename ArrayType<T, n>::type;
template <class T>
constexpr std::size_t lanes = vector_bytes / sizeof(T);
template <class T>
using Vector = Array<T, lanes<T>>;

using Floats = Vector<float>;
using Doubles = Vector<double>;
using Pairs = Vector<std::uint32_t>;  // each lane is a pair of 16-bit integers
using Words = Vector<std::uint64_t>;  // each lane is eight bytes

template <class T>
inline Vector<T> load(const T* from) {
    Vector<T> vector;
    std::memcpy(&vector, from, vector_bytes);
    return vector;
}

template <class V, class T>
inline void store(V vector, T* to) {
    std::memcpy(to, &vector, sizeof vector);
}

template <class T>
inline Vector<T> broadcast(T value) {
    return value - Vector<T>{};  // Subtracting zero keeps every value; adding zero would change -0.
}

// Returns a > b ? a : b for each lane. Not every compiler finds the instruction for it.
#if defined(__AVX512BW__)
inline Floats maximum(Floats a, Floats b) { return _mm512_maskz_max_ps(0xffff, a, b); }
inline Doubles maximum(Doubles a, Doubles b) { return _mm512_maskz_max_pd(0xff, a, b); }
#elif defined(__AVX2__)
inline Floats maximum(Floats a, Floats b) { return _mm256_max_ps(a, b); }
inline Doubles maximum(Doubles a, Doubles b) { return _mm256_max_pd(a, b); }
#elif defined(__SSE2__)
inline Floats maximum(Floats a, Floats b) { return _mm_max_ps(a, b); }
inline Doubles maximum(Doubles a, Doubles b) { return _mm_max_pd(a, b); }
#else
template <class V>
inline V maximum(V a, V b) {
    return a > b ? a : b;
}
#endif

inline float square_root(float x) { return __builtin_sqrtf(x); }
inline double square_root(double x) { return __builtin_sqrt(x); }

inline Floats absolute(Floats x) { return (Floats)((Vector<std::int32_t>)x & INT32_MAX); }
inline Doubles absolute(Doubles x) { return (Doubles)((Vector<std::int64_t>)x & INT64_MAX); }

// Returns sum + x. Where fused multiplications run on other ports than additions, it is computed as x * 1 + sum, which
// rounds in the same way.
#if defined(__AVX512BW__)
inline Floats add_on_multiplier(Floats sum, Floats x) { return _mm512_fmadd_ps(x, broadcast(1.0f), sum); }
inline Doubles add_on_multiplier(Doubles sum, Doubles x) { return _mm512_fmadd_pd(x, broadcast(1.0), sum); }
#elif defined(__FMA__)
inline Floats add_on_multiplier(Floats sum, Floats x) { return _mm256_fmadd_ps(x, broadcast(1.0f), sum); }
inline Doubles add_on_multiplier(Doubles sum, Doubles x) { return _mm256_fmadd_pd(x, broadcast(1.0), sum); }
#else
inline Floats add_on_multiplier(Floats sum, Floats x) { return sum + x; }
inline Doubles add_on_multiplier(Doubles sum, Doubles x) { return sum + x; }
#endif

// Returns a - b. Where fused multiplications run on other ports than additions, it is computed as a * 1 - b, which
// rounds in the same way.
#if defined(__AVX512BW__)
inline Floats subtract_on_multiplier(Floats a, Floats b) { return _mm512_fmsub_ps(a, broadcast(1.0f), b); }
inline Doubles subtract_on_multiplier(Doubles a, Doubles b) { return _mm512_fmsub_pd(a, broadcast(1.0), b); }
#elif defined(__FMA__)
inline Floats subtract_on_multiplier(Floats a, Floats b) { return _mm256_fmsub_ps(a, broadcast(1.0f), b); }
inline Doubles subtract_on_multiplier(Doubles a, Doubles b) { return _mm256_fmsub_pd(a, broadcast(1.0), b); }
#else
inline Floats subtract_on_multiplier(Floats a, Floats b) { return a - b; }
inline Doubles subtract_on_multiplier(Doubles a, Doubles b) { return a - b; }
#endif

// Returns the larger of `largest`, which is not negative, and |x|.
#if defined(__AVX512BW__)
inline Floats larger_magnitude(Floats largest, Floats x) { return _mm512_range_ps(largest, x, 0b1011); }
inline Doubles larger_magnitude(Doubles largest, Doubles x) { return _mm512_range_pd(largest, x, 0b1011); }
#else
template <class V>
inline V larger_magnitude(V largest, V x) {
    return maximum(largest, absolute(x));
}
#endif

// Returns a * b + sum with a single rounding.
#if defined(__AVX512BW__)
inline Floats multiply_add(Floats sum, Floats a, Floats b) { return _mm512_fmadd_ps(a, b, sum); }
#elif defined(__FMA__)
inline Floats multiply_add(Floats sum, Floats a, Floats b) { return _mm256_fmadd_ps(a, b, sum); }
#elif defined(__aarch64__)
inline Floats multiply_add(Floats sum, Floats a, Floats b) {
    return (Floats)vfmaq_f32((float32x4_t)sum, (float32x4_t)a, (float32x4_t)b);
}
#else
// Without the fused instruction, the same bits are computed slowly. The product is exact in double. The sum is rounded
// to odd, because the rounding to float must still see on which side of a tie the exact sum lies.
inline Floats multiply_add(Floats sum, Floats a, Floats b) {
    typedef float Half __attribute__((vector_size(vector_bytes / 2)));
    Half sums[2], as[2], bs[2];
    std::memcpy(sums, &sum, vector_bytes);
    std::memcpy(as, &a, vector_bytes);
    std::memcpy(bs, &b, vector_bytes);
    for (int h = 0; h < 2; ++h) {
        const Doubles addend = __builtin_convertvector(sums[h], Doubles);
        const Doubles product = __builtin_convertvector(as[h], Doubles) * __builtin_convertvector(bs[h], Doubles);
        const Doubles total = product + addend, added = total - product;
        const Doubles error = (product - (total - added)) + (addend - added);
        const auto bits = (Vector<std::int64_t>)total;
        const auto is_inexact_and_even = (error != 0.0) & -(~bits & 1), away = ((error > 0.0) ^ (total > 0.0)) | 1;
        sums[h] = __builtin_convertvector((Doubles)(bits + (is_inexact_and_even & away)), Half);
    }
    std::memcpy(&sum, sums, vector_bytes);
    return sum;
}
#endif

// Returns for each lane the sum of the absolute differences of its eight bytes.
inline Words sum_of_byte_differences(Words a, Words b) {
#if defined(__AVX512BW__)
    return (Words)_mm512_sad_epu8((__m512i)a, (__m512i)b);
#elif defined(__AVX2__)
    return (Words)_mm256_sad_epu8((__m256i)a, (__m256i)b);
#elif defined(__SSE2__)
    return (Words)_mm_sad_epu8((__m128i)a, (__m128i)b);
#elif defined(__aarch64__)
    return (Words)vpaddlq_u32(vpaddlq_u16(vpaddlq_u8(vabdq_u8((uint8x16_t)a, (uint8x16_t)b))));
#else
    const auto x = (Vector<std::uint8_t>)a, y = (Vector<std::uint8_t>)b;
    const Words difference = (Words)(x > y ? x - y : y - x);
    const Words pairs = (difference & 0x00ff00ff00ff00ff) + ((difference >> 8) & 0x00ff00ff00ff00ff);
    return (pairs * 0x0001000100010001) >> 48;
#endif
}

// Returns for each lane the sum of the products of its two integers, which must be below 2^15.
inline Pairs products_of_pairs(Pairs a, Pairs b) {
#if defined(__AVX512BW__)
    return (Pairs)_mm512_madd_epi16((__m512i)a, (__m512i)b);
#elif defined(__AVX2__)
    return (Pairs)_mm256_madd_epi16((__m256i)a, (__m256i)b);
#elif defined(__SSE2__)
    return (Pairs)_mm_madd_epi16((__m128i)a, (__m128i)b);
#elif defined(__aarch64__)
    const auto x = (uint16x8_t)a, y = (uint16x8_t)b;
    return (Pairs)vpaddq_u32(vmull_u16(vget_low_u16(x), vget_low_u16(y)), vmull_high_u16(x, y));
#else
    return (a & 0xffff) * (b & 0xffff) + (a >> 16) * (b >> 16);
#endif
}

// Calls body(0), ..., body(n - 1) with a counter that is a constant at compile time.
template <int value>
struct Constant {
    constexpr operator int() const { return value; }
};
template <int n, int first = 0, class Body>
__attribute__((always_inline)) inline void unrolled(const Body& body) {
    if constexpr (first < n) {
        body(Constant<first>{});
        unrolled<n, first + 1>(body);
    }
}

// Calls body(value) with a value between 1 and `most` that is a constant at compile time.
template <int most, class Body>
__attribute__((always_inline)) inline void with_constant(int value, const Body& body) {
    if constexpr (most > 1)
        if (value < most) return with_constant<most - 1>(value, body);
    body(Constant<most>{});
}

// Returns one bit for each lane: 1 if a >= b does not hold, which is so for NaN.
inline std::uint64_t not_at_least(Floats a, Floats b) {
#if defined(__AVX512BW__)
    return _mm512_cmp_ps_mask(a, b, _CMP_NGE_UQ);
#elif defined(__AVX2__)
    return static_cast<std::uint32_t>(_mm256_movemask_ps(_mm256_cmp_ps(a, b, _CMP_NGE_UQ)));
#elif defined(__SSE2__)
    return static_cast<std::uint32_t>(_mm_movemask_ps(_mm_cmpnge_ps(a, b)));
#elif defined(__aarch64__)
    constexpr Vector<std::uint32_t> bit_of_lane = {1, 2, 4, 8};
    return vaddvq_u32((uint32x4_t)(~(Vector<std::uint32_t>)(a >= b) & bit_of_lane));
#else
    std::uint64_t bits = 0;
    for (std::size_t lane = 0; lane < lanes<float>; ++lane) bits |= std::uint64_t(!(a[lane] >= b[lane])) << lane;
    return bits;
#endif
}

// Returns one bit for each lane: 1 if a < b.
inline std::uint64_t less_than(Floats a, Floats b) {
#if defined(__AVX512BW__)
    return _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ);
#elif defined(__AVX2__)
    return static_cast<std::uint32_t>(_mm256_movemask_ps(_mm256_cmp_ps(a, b, _CMP_LT_OQ)));
#elif defined(__SSE2__)
    return static_cast<std::uint32_t>(_mm_movemask_ps(_mm_cmplt_ps(a, b)));
#elif defined(__aarch64__)
    constexpr Vector<std::uint32_t> bit_of_lane = {1, 2, 4, 8};
    return vaddvq_u32((uint32x4_t)((Vector<std::uint32_t>)(a < b) & bit_of_lane));
#else
    std::uint64_t bits = 0;
    for (std::size_t lane = 0; lane < lanes<float>; ++lane) bits |= std::uint64_t(a[lane] < b[lane]) << lane;
    return bits;
#endif
}

}  // namespace OBP_LEVEL
}  // namespace obp
