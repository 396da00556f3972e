"""The commands of `fsir-agent`, each in the file that has its name."""
