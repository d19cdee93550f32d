"""From what was seen to one suggestion: the order of runs and the structure tokens in front of each."""
