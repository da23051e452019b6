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

# Bytes of the elements that fills know.
SIZES = (1, 2, 4, 8, 16)

# Words of an Array after its head. The owner is a buffer object, or 1 + 2 * the size class of a
# block of the pool that is the Array's own; `weak`, `previous` and `next` are for the type's use.
(
    ARRAY_AVAL, ARRAY_ADDRESS, ARRAY_OWNER, ARRAY_WEAK, ARRAY_PREVIOUS, ARRAY_NEXT, ARRAY_SIZE,
) = range(7)  # fmt: skip

# Words of what native code knows of an aval's elements in memory: the format of the buffer protocol
# (empty if it has none), how many axes there are, bytes of an element and of all, the size class of
# those, NumPy's dtype, and a wider dtype that is converted on the way (or 0) with its kind and how
# many numbers there are. Sizes of the axes follow, then strides.
(
    MEMORY_FORMAT, MEMORY_RANK, MEMORY_ITEM, MEMORY_BYTES, MEMORY_CLASS, MEMORY_DTYPE, MEMORY_WIDE,
    MEMORY_KIND, MEMORY_COUNT, MEMORY_SHAPE,
) = range(10)  # fmt: skip
# Kinds of conversions from a wider dtype.
NARROW_FLOAT, NARROW_INT = 1, 2

# Words at the head of a call: what a program is given, and what becomes of its results. Then come
# captured arrays, what each leaf of the arguments must be, names of keyword arguments with their
# places, the outputs (aval, number of bytes, size class), and for each result its number among
# captured arrays, leaves and outputs. Without a pattern, the arguments are the leaves. Where leaves
# are donated, their number and their places are at the address `donated`.
(
    CALL_NEXT, CALL_CONFIG, CALL_CONSTS, CALL_ARGS, CALL_KEYWORDS, CALL_OUTPUTS, CALL_RESULTS,
    CALL_PROGRAM, CALL_FRAME, CALL_ARENA, CALL_ARENA_CLASS, CALL_HOLD, CALL_FORM, CALL_FINISH,
    CALL_GIVEN, CALL_PATTERN, CALL_DONATED, CALL_SIZE,
) = range(18)  # fmt: skip
# What a call gives: the only result, a list, a tree, or what a function makes of the list. What
# makes it, a pattern or a function, is the word `finish`.
FORM_SINGLE, FORM_LIST, FORM_TREE, FORM_FINISHED = range(4)
# Patterns of trees. A leaf is followed by what it must be (or the number of the result), a static
# value by the value, None by nothing; a tuple and a list by their length and their items; a dict by
# its length and each key with the item.
TREE_LEAF, TREE_EQUAL, TREE_SAME, TREE_NONE, TREE_TUPLE, TREE_LIST, TREE_DICT = range(7)
# What an argument must be: the address of an aval, or one of these.
ANY_ARRAY, FLOAT_TO_32, FLOAT_TO_64, INT_TO_32, INT_TO_64, BOOL_TO_8 = range(6)
# Added to the address of an aval: a tracer of an un-jitted derivative, or of a program, no Array.
ON_TAPE, IN_PROGRAM = 1, 2
# As much for a NumPy array of the dtype, or of a wider one, which becomes an Array.
FROM_NUMPY, FROM_WIDER = 4, 5

# Words of what a call adds to a tape: the entry, the list of the avals of its variables, how many
# operands are on the tape, how many outputs there are, the function that makes a tree of them (0 if
# there is one output), and for each whether it is a variable. Residuals follow outputs.
TAPED_ENTRY, TAPED_AVALS, TAPED_OPERANDS, TAPED_OUTPUTS, TAPED_FINISH, TAPED_FLAGS = range(6)

# Words of the state of a front: its first call, the Python function for everything else, the list
# that owns the calls, the most leaves that the trees of a call have, and the states whose calls are
# those in un-jitted derivatives and in functions that are traced (0 if there are none).
(
    FRONT_FIRST, FRONT_SLOW, FRONT_OWNER, FRONT_LEAVES, FRONT_TAPED, FRONT_STAGED, FRONT_SIZE,
) = range(7)  # fmt: skip
