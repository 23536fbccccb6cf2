"""Instructions on SIMD lanes, as LLVM text."""
