"""Makes training pages, trains and evaluates the embedded reader. Not needed to run it."""
