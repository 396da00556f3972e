"""The contract: what a task holds, how it is read and checked. Pure; knows nothing of noise or messages."""
