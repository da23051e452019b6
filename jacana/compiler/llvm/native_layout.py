"""Numbers that native functions and those who prepare their arguments agree on."""

# Words at the head of a program that is called from Python.
HEAD_COUNT, HEAD_GIVEN, HEAD_RELATIVE, HEAD_FIXED, HEAD_RELEASE, HEAD_FAIL, HEAD_SIZE = range(7)
# Words of a command's record before its slots.
RECORD_HEAD = 5
# What a program's `fail` function is told when there was no command to run.
WRONG_FRAME = -1

# The largest request that the memory pool's size classes can hold, and how many classes there are.
LARGEST = 1 << 46
CLASSES = 160

# Bytes of the elements that strided copies know, and how many axes they can walk.
SIZES = (1, 2, 4, 8, 16)
MAX_RANK = 8
