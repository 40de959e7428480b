"""The browser application: one page, whatever the address. It is built from `frontend/` into `static/app`."""

from __future__ import annotations

from pathlib import Path

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

PAGE = Path(__file__).parent / "static" / "app" / "index.html"

NOT_BUILT = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Unpooled: not built</title></head><body>
<h1>The browser application is not built</h1>
<p>This is a checkout, and its pages are built by Node.js 20.19 or newer, which was not there. Install it,
then run this in the root of the checkout, and load this page again:</p>
<pre>scripts/build-frontend</pre>
<p>A wheel of <code>unpooled-webapp</code> contains the built application, and needs no Node.js. The API, the
worker and the command <code>unpooled</code> work without it.</p>
</body></html>
"""


@require_safe
def page(request: HttpRequest) -> HttpResponse:
    try:
        response = HttpResponse(PAGE.read_bytes())
    except FileNotFoundError:
        response = HttpResponse(NOT_BUILT, status=503)
    response.headers["Cache-Control"] = "no-cache"  # it names the current scripts
    return response
