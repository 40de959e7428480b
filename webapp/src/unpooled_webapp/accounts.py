"""People: roles, sign-in, and how often somebody may try a password."""

from __future__ import annotations

from collections.abc import Mapping

from django.conf import settings
from django.contrib.auth import authenticate
from django.contrib.auth.models import Group, User
from django.contrib.auth.password_validation import validate_password
from django.core.cache import cache
from django.core.exceptions import ValidationError
from django.http import HttpRequest

from unpooled_server.errors import Conflict, Refused
from unpooled_server.models import Study

ADMINISTRATOR, COORDINATOR, OBSERVER = "administrator", "coordinator", "observer"
ROLES = (ADMINISTRATOR, COORDINATOR, OBSERVER)

TRIES_PER_NAME, TRIES_PER_ADDRESS = 8, 40
WINDOW = 300  # seconds


def role(user: User) -> str:
    """A person's role on this platform."""
    if user.is_superuser:
        return ADMINISTRATOR
    return COORDINATOR if user.groups.filter(name=COORDINATOR).exists() else OBSERVER


def check_new(name: str, password: str) -> None:
    """Refused if nobody can have this name, or if the password is too weak."""
    if User.objects.filter(username__iexact=name).exists():
        raise Conflict("name-taken", "Somebody has this name already.", fields={"username": "is taken"})
    check_password(password, User(username=name))


def check_password(password: str, user: User, field: str = "password") -> None:
    """Refused if this password, from a field of a form, is too weak for this person."""
    try:
        validate_password(password, user)
    except ValidationError as error:
        text = " ".join(error.messages)
        raise Refused("weak-password", text, "Choose another one.", fields={field: text}) from error


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


def may_change(user: User, study: Study) -> bool:
    """Whether somebody who may see a study may also change it. An owner who became an observer watches."""
    return may_coordinate(user) and (study.owner_id == user.pk or user.is_superuser)


def check_sign_in(request: HttpRequest, name: str, password: str) -> User:
    """The person of this name and password; Refused otherwise, and after too many tries."""
    keys = {
        f"sign-in:address:{_address(request)}": TRIES_PER_ADDRESS,
        f"sign-in:name:{name.lower()[:150]}": TRIES_PER_NAME,
    }
    _limit(keys)
    user = authenticate(request, username=name, password=password)
    if not isinstance(user, User):
        raise Refused("wrong-password", "User name or password is wrong.", status=401)
    cache.delete_many([_cache_key(key) for key in keys])
    return user


def change_password(request: HttpRequest, user: User, old: str, new: str) -> None:
    """Give a person a new password, who knows the old one."""
    key = f"change:{user.username.lower()[:150]}"
    _limit({key: TRIES_PER_NAME})
    if not user.check_password(old):
        text = "This is not your password."
        raise Refused("wrong-password", text, "Type the one you signed in with.", fields={"old": text})
    check_password(new, user, "new")
    cache.delete(_cache_key(key))
    user.set_password(new)
    user.save(update_fields=["password"])


def limit_address(request: HttpRequest) -> None:
    """Refused after too many tries from one address."""
    _limit({f"sign-in:address:{_address(request)}": TRIES_PER_ADDRESS})


def _limit(keys: Mapping[str, int]) -> None:
    """Count a try under each key; Refused if there were more than its number within the window.

    The first key that is spent ends it: an address that may not try any more makes no entries for names,
    which would push others out of the cache.
    """
    if any(_tries(key) > most for key, most in keys.items()):
        raise Refused(
            "too-many-tries",
            "Too many attempts to sign in.",
            "Wait five minutes, then try again.",
            status=429,
        )


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
