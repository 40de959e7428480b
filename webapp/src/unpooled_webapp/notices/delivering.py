"""Takes what is due from the queue, and sends it."""

from __future__ import annotations

import logging
import smtplib
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

from django.conf import settings
from django.contrib.sessions.models import Session
from django.core.mail import EmailMessage
from django.db.models import F
from django.utils import timezone

from unpooled_webapp.models import ChannelKind, Delivery, Outcome
from unpooled_webapp.notices import events, message, webhooks
from unpooled_webapp.notices.webhooks import Undelivered

log = logging.getLogger(__name__)

# Deliveries of one look, and threads for them.
AT_ONCE = 20
# Longer than any delivery takes: a webhook 15 seconds in all, mail 10 for each step.
LEASE = timedelta(seconds=90)
PAUSES = [timedelta(minutes=minutes) for minutes in (1, 5, 30, 120, 600)]
"""Pauses before the second try, the third, and so on; then it is given up."""
KEPT = timedelta(days=30)


def deliver_due() -> None:
    """Deliver what is due, the oldest first, and forget what was long ago, ended sessions among it."""
    now = timezone.now()
    Session.objects.filter(expire_date__lt=now).delete()
    Delivery.objects.exclude(outcome=Outcome.WAITING).filter(time__lt=now - KEPT).delete()
    due = Delivery.objects.filter(outcome=Outcome.WAITING, due_at__lte=now).order_by("due_at")
    looked_at = due.select_related("channel__user", "study")[:AT_ONCE]
    taken = [delivery for delivery in looked_at if _take(delivery) and _may_be_told(delivery)]
    # Side by side, so that receivers that do not answer keep a worker for seconds, not for minutes.
    with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="notices") as pool:
        for delivery, why_not in zip(taken, pool.map(_why_not, taken), strict=True):
            if why_not:
                _put_off(delivery, why_not)
            else:
                _end(delivery, Outcome.DELIVERED, "")


def _take(delivery: Delivery) -> bool:
    """Claim a delivery; tell whether this process got it. If it is killed, another tries after the lease."""
    # The old time in the WHERE: of two workers that saw it due one finds the row.
    taken = Delivery.objects.filter(pk=delivery.pk, due_at=delivery.due_at, outcome=Outcome.WAITING).update(
        due_at=timezone.now() + LEASE, tries=F("tries") + 1
    )
    delivery.tries += taken
    return bool(taken)


def _may_be_told(delivery: Delivery) -> bool:
    """Tell whether the study is still theirs to see; else delete the delivery."""
    user = delivery.channel.user
    may = events.may_be_told(user, delivery.study) if delivery.study else user.is_active
    if not may:
        delivery.delete()
    return may


def _why_not(delivery: Delivery) -> str:
    """Send it; why it did not get there, or nothing. Without the database: this is on another thread."""
    try:
        _send(delivery)
    except Undelivered as error:
        return str(error)
    return ""


def _send(delivery: Delivery) -> None:
    if delivery.channel.kind == ChannelKind.WEBHOOK:
        webhooks.deliver(delivery.channel, str(delivery.pk), message.payload(delivery))
    else:
        _mail(delivery)


def _mail(delivery: Delivery) -> None:
    send(EmailMessage(message.subject(delivery), message.text(delivery), to=[delivery.channel.address]))


def send(mail: EmailMessage) -> None:
    """Send a mail; Undelivered if that cannot be done now."""
    if not settings.UNPOOLED_MAIL_URL:
        raise Undelivered("this platform sends no mail")
    try:
        mail.send()
    except (OSError, smtplib.SMTPException, ValueError) as error:
        log.error("mail could not be sent: %s", type(error).__name__)
        raise Undelivered("the platform's mail server did not take it") from None


def _put_off(delivery: Delivery, why: str) -> None:
    if delivery.tries > len(PAUSES):
        _end(delivery, Outcome.GIVEN_UP, why)
        return
    due_at = timezone.now() + PAUSES[delivery.tries - 1]
    Delivery.objects.filter(pk=delivery.pk).update(due_at=due_at, said=why[:200])


def _end(delivery: Delivery, outcome: Outcome, why: str) -> None:
    Delivery.objects.filter(pk=delivery.pk).update(outcome=outcome, said=why[:200])
