"""The motion sensors of an Android phone, through the command `termux-sensor`."""
