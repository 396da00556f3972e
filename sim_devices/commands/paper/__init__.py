"""The commands that repeat the paper's simulations: table, tables, ablation, figures."""
