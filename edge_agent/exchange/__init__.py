"""What is said to the aggregator and heard from it: reports that wait, receipts, the gate. No sockets."""
