"""From random words to standard normals."""

WORD_BYTES = 16  # one sign bit and a tail probability down to 2^-129
SIGNIFICANT_BITS = 53
