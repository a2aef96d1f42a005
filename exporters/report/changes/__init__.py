"""Report of the changes between two captures or moments: text, page and data with one choice of words."""
