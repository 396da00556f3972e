"""What an owner says to `fsir-agent run`, in a file or on the command line, before it runs."""
