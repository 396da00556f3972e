"""Where reports are kept: one small interface, and the engines behind it."""
