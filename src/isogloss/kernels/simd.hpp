// Loops compiled once per instruction set, and memory asked for ahead of its use, where the compiler can.
#pragma once
#include <cstddef>

// Choosing a version when the module is loaded (ifunc) needs glibc: musl and macOS have no such thing.
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__)
#define ISOGLOSS_CLONES __attribute__((target_clones("default", "avx2", "avx512f")))
#else
#define ISOGLOSS_CLONES
#endif

#if defined(__GNUC__)
#define ISOGLOSS_PREFETCH(address, write) __builtin_prefetch(address, write)
#else
#define ISOGLOSS_PREFETCH(address, write) static_cast<void>(address)
#endif
