"""From random words to standard normals, the same bits one by one and many at once."""

WORD_BYTES = 16  # one sign bit and a tail probability down to 2^-129
SIGNIFICANT_BITS = 53
