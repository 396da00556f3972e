"""The tables of a store, part by part, in statements that every engine understands."""
