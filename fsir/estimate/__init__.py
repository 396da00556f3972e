"""What is made of the merged reports: the subspace, how sure it is, and its use on records. Pure."""
