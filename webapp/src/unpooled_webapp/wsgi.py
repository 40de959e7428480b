from __future__ import annotations

import os

from django.core.wsgi import get_wsgi_application

from unpooled.memory.allocator import map_large_blocks, share_one_heap

share_one_heap()
map_large_blocks()
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "unpooled_webapp.settings")
application = get_wsgi_application()

from unpooled_webapp.demonstration import service  # noqa: E402  # Django is set up now

service.clean_up()  # a demo has ended with the process that this one follows
