"""What an aggregator does about the rounds of a stage, besides counting them."""
