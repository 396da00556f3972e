"""The commands of `fsir-aggregator`, each in the file that has its name."""
