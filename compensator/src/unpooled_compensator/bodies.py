"""The body of a request, read as far as it is wanted: what comes first says how long the rest must be."""

from __future__ import annotations

import asyncio
import time

from starlette.requests import ClientDisconnect, Request

from unpooled_compensator.service import Refused

# A body that takes longer is given up, besides the time for its bytes at the least rate.
SECONDS = 60
LEAST_RATE = 1 << 16  # bytes a second


class Body:
    """Reads a body of announced length, part by part."""

    def __init__(self, request: Request, length: int) -> None:
        self.length = length
        self._stream = aiter(request.stream())
        self._until = time.monotonic() + SECONDS + length / LEAST_RATE
        self._had = bytearray()

    async def take(self, count: int) -> bytes:
        """The next bytes; ClientDisconnect where the body ends before them."""
        try:
            async with asyncio.timeout(self._until - time.monotonic()):
                while len(self._had) < count:
                    self._had += await self._next()
        except TimeoutError:
            raise Refused(
                "slow_body", "The body did not arrive in time.", "Send the request again."
            ) from None
        taken = bytes(self._had[:count])
        del self._had[:count]
        return taken

    async def _next(self) -> bytes:
        if part := await anext(self._stream, b""):
            return part
        raise ClientDisconnect
