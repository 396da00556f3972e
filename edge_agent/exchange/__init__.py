"""What is said to the aggregator and heard from it: outbox, receipts, the gate. No sockets."""
