"""What every page of ours needs, whoever shows it: HTML, headers, proofs."""
