"""From random words to standard normals, the same bits one by one and many at once."""
