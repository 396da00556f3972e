"""What programs need of network and machine: the only room of `fsir` with sockets and files."""
