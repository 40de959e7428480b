"""Manhattan and QQ plot as the browser draws them, from the numbers of `unpooled.pictures`."""
