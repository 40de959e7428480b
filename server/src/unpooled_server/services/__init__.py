"""Every write. A change of state is one UPDATE with the old state in its WHERE; the count says who won."""
