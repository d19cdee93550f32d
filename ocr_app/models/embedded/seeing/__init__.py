"""What a page shows: lines, characters, and what pretrained networks say of the layout. Knows no reading
order.
"""
