// Loops over doubles, compiled once per instruction set where the compiler can.
#pragma once
#include <cstddef>

#if defined(__x86_64__) && defined(__linux__) && defined(__GNUC__) && !defined(__clang__)
#define ISOGLOSS_CLONES __attribute__((target_clones("default", "avx2", "avx512f")))
#else
#define ISOGLOSS_CLONES
#endif
