"""Manhattan and QQ plot: the pictures of `unpooled.pictures`, drawn by Qt, with tips, keys and selection."""
