"""Pages of HTML that can be kept."""
