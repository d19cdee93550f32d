"""From what was seen to one suggestion: the order of a page's runs and the structure tokens in front of each."""
