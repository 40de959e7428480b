"""People: roles, sign-in, and how often somebody may try a password."""

from __future__ import annotations

import ipaddress

from django.conf import settings
from django.contrib.auth import authenticate
from django.contrib.auth.models import Group, User
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db.models import Q, QuerySet
from django.http import HttpRequest

from unpooled_server.errors import Conflict, Refused
from unpooled_server.models import Study
from unpooled_server.names import RESERVED
from unpooled_webapp import second_factor, tries
from unpooled_webapp.roles import ADMINISTRATOR as ADMINISTRATOR
from unpooled_webapp.roles import COORDINATOR as COORDINATOR
from unpooled_webapp.roles import OBSERVER as OBSERVER
from unpooled_webapp.roles import ROLES as ROLES

USERNAME = r"^[\w.@+-]{1,150}$"

# Within `tries.WINDOW`. Behind a hospital's proxy many people share an address: it gets more than a name.
TRIES_PER_NAME, TRIES_PER_ADDRESS, TRIALS = 8, 40, 10


def role(user: User) -> str:
    """A person's role on this platform."""
    if user.is_superuser:
        return ADMINISTRATOR
    return COORDINATOR if any(group.name == COORDINATOR for group in user.groups.all()) else OBSERVER


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


def create(name: str, password: str | None, role: str) -> User:
    """Create a person; without a password they sign in through the organisation's provider alone."""
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
    """Tell whether somebody who sees a study may also change it. An owner who became an observer watches."""
    return may_coordinate(user) and (study.owner_id == user.pk or user.is_superuser)


def check_sign_in(request: HttpRequest, name: str, password: str, code: str = "") -> User:
    """The person of this name, password and code, if they have a second factor; Refused otherwise, and after
    too many tries.

    Tries are counted by address, and by name *and* address: by name alone, anybody could lock anybody else
    out. From many addresses those at one name become slow, but for who has signed in from there before.
    """
    address = f"sign-in:address:{_address(request)}"
    both = f"sign-in:name:{_address(request)}:{name.lower()[:150]}"
    anywhere = f"sign-in:anywhere:{name.lower()[:150]}"
    tries.count({address: TRIES_PER_ADDRESS, both: TRIES_PER_NAME})
    if is_strange := not tries.is_known(both):
        tries.slow_down(anywhere)
    user = authenticate(request, username=name, password=password)
    if not isinstance(user, User):
        raise Refused("wrong-password", "User name or password is wrong.", status=401)
    second_factor.check(user, code)
    tries.take_back(address)  # one's own password must not give anew the tries at those of others
    tries.forget(both)
    if is_strange:
        tries.take_back(anywhere)
        tries.remember(both)
    return user


def change_password(request: HttpRequest, user: User, old: str, new: str) -> None:
    """Give a person a new password, who knows the old one."""
    key = f"change:{user.username.lower()[:150]}"
    tries.count({key: TRIES_PER_NAME})
    if not user.check_password(old):
        text = "This is not your password."
        raise Refused("wrong-password", text, "Type the one you signed in with.", fields={"old": text})
    check_password(new, user, "new")
    tries.forget(key)
    user.set_password(new)
    user.save(update_fields=["password"])


def limit_address(request: HttpRequest) -> None:
    """Refused after too many tries from one address."""
    tries.count({f"sign-in:address:{_address(request)}": TRIES_PER_ADDRESS})


def take_back_address(request: HttpRequest) -> None:
    """Count one try less from an address: it did not fail."""
    tries.take_back(f"sign-in:address:{_address(request)}")


def limit_trials(user: User) -> None:
    """Refused after too many trial notices of one person."""
    tries.count({f"trial:{user.pk}": TRIALS}, "Too many trials.")


def shown_name(user: User) -> str:
    """Return a person's name for pages: the display name, or else the name they sign in with."""
    return user.first_name or user.username


def names_of(study: Study) -> dict[str, str]:
    """Map to display names those who watch a study, or have compared its fingerprints."""
    who = {study.compared_by, *study.cohorts.values_list("compared_by", flat=True)}
    found = User.objects.filter(Q(username__in=who) | Q(observed_studies=study)).distinct()
    return {user.username: shown_name(user) for user in found}


def names_in(study: Study) -> dict[str, str]:
    """Map to display names the people in a study's log. The names of its cohorts stay those of cohorts."""
    who = set(study.log.values_list("who", flat=True)) - set(study.cohorts.values_list("name", flat=True))
    return {user.username: shown_name(user) for user in User.objects.filter(username__in=who)}


def check_display_name(name: str, user: User | None = None) -> None:
    """Refused if somebody else is called so, or one of the platform's own parties."""
    others = User.objects.exclude(pk=user.pk) if user else User.objects.all()
    is_taken = others.filter(Q(username__iexact=name) | Q(first_name__iexact=name)).exists()
    if name and (is_taken or name.lower() in RESERVED):
        raise Conflict("name-taken", "Somebody is called this already.", fields={"display_name": "is taken"})


def set_display_name(user: User, name: str) -> None:
    """Change how a person is called; empty: by the user name.

    It is kept in Django's first name. The last name stays empty: not everybody has two.
    """
    check_display_name(name, user)
    user.first_name = name
    user.save(update_fields=["first_name"])


def _address(request: HttpRequest) -> str:
    """Return the address that a request comes from; behind a proxy with TLS, as the proxy says.

    For IPv6 it is the network: whoever has one address has 2⁶⁴.
    """
    nearest = str(request.META.get("REMOTE_ADDR", ""))
    if settings.SECURE_PROXY_SSL_HEADER:
        nearest = request.headers.get("X-Forwarded-For", nearest).rpartition(",")[2].strip()
    try:
        found = ipaddress.ip_address(nearest)
    except ValueError:
        return nearest
    return str(ipaddress.ip_network((found, 64), strict=False)) if found.version == 6 else nearest


def provider_name() -> str:
    """Name the organisation's own sign-in for its button; empty where there is none."""
    return settings.UNPOOLED_OIDC_NAME if settings.UNPOOLED_OIDC_ISSUER else ""


def has_administrator() -> bool:
    return _administrators().exists()


def is_last_administrator(user: User) -> bool:
    return user.is_superuser and not _administrators().exclude(pk=user.pk).exists()


def _administrators() -> QuerySet[User]:
    return User.objects.filter(is_superuser=True, is_active=True)
