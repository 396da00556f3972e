"""The paper's simulations: its tables and figures reproduced,
and beside them what the default release gives."""
