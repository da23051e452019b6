"""Machine code by LLVM: the one place that knows llvmlite, and imports it when it must."""
