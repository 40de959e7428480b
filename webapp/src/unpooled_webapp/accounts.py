"""People: roles, sign-in, and how often somebody may try a password."""

from __future__ import annotations

from django.conf import settings
from django.contrib.auth import authenticate
from django.contrib.auth.models import Group, User
from django.core.cache import cache
from django.http import HttpRequest

from unpooled_server.errors import Refused

ADMINISTRATOR, COORDINATOR, OBSERVER = "administrator", "coordinator", "observer"
ROLES = (ADMINISTRATOR, COORDINATOR, OBSERVER)

TRIES_PER_NAME, TRIES_PER_ADDRESS = 8, 40
WINDOW = 300  # seconds


def role(user: User) -> str:
    """A person's role on this platform."""
    if user.is_superuser:
        return ADMINISTRATOR
    return COORDINATOR if user.groups.filter(name=COORDINATOR).exists() else OBSERVER


def create(name: str, password: str, role: str) -> User:
    user = User.objects.create_user(name, password=password)
    set_role(user, role)
    return user


def set_role(user: User, role: str) -> None:
    """Save a person with this role."""
    user.is_superuser = user.is_staff = role == ADMINISTRATOR
    user.save()
    user.groups.clear()
    if role == COORDINATOR:
        user.groups.add(Group.objects.get_or_create(name=COORDINATOR)[0])


def may_coordinate(user: User) -> bool:
    return role(user) in (ADMINISTRATOR, COORDINATOR)


def check_sign_in(request: HttpRequest, name: str, password: str) -> User:
    """The person of this name and password; Refused otherwise, and after too many tries."""
    keys = {
        f"sign-in:name:{name.lower()[:150]}": TRIES_PER_NAME,
        f"sign-in:address:{_address(request)}": TRIES_PER_ADDRESS,
    }
    if any(_tries(key) > most for key, most in keys.items()):
        raise Refused(
            "too-many-tries",
            "Too many attempts to sign in.",
            "Wait five minutes, then try again.",
            status=429,
        )
    user = authenticate(request, username=name, password=password)
    if not isinstance(user, User):
        raise Refused("wrong-password", "User name or password is wrong.", status=401)
    cache.delete_many([_cache_key(key) for key in keys])
    return user


def _address(request: HttpRequest) -> str:
    """Where a request comes from; behind a proxy with TLS, as the proxy says."""
    nearest = str(request.META.get("REMOTE_ADDR", ""))
    if settings.SECURE_PROXY_SSL_HEADER:
        return request.headers.get("X-Forwarded-For", nearest).rpartition(",")[2].strip()
    return nearest


def _tries(key: str) -> int:
    """How often this was tried within the window, this time included."""
    cache.add(_cache_key(key), 0, WINDOW)
    try:
        return int(cache.incr(_cache_key(key)))
    except ValueError:  # it expired in between
        return 1


def _cache_key(key: str) -> str:
    return key.encode().hex()[:200]


def has_administrator() -> bool:
    return User.objects.filter(is_superuser=True, is_active=True).exists()
