"""What a device must not forget: one file, written all or nothing."""
