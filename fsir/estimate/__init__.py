"""What is made of merged reports: the subspace, how sure it is, and its use on records. Pure."""
