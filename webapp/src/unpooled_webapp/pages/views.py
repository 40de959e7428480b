"""A few plain pages, until the browser application is there: sign in, studies, one study with its files."""

from __future__ import annotations

from typing import Any

from django.contrib.auth import login, logout
from django.contrib.auth.decorators import login_required
from django.http import FileResponse, Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from unpooled_server import selectors
from unpooled_server.errors import Refused
from unpooled_server.models import Study
from unpooled_server.names import OVER, StudyState
from unpooled_webapp import accounts

ICONS = {
    StudyState.DRAFT: "✎",
    StudyState.OPEN: "○",
    StudyState.READY: "◐",
    StudyState.RUNNING: "▶",
    StudyState.PAUSED: "⏸",
    StudyState.DONE: "✓",
    StudyState.ABORTED: "■",
    StudyState.FAILED: "✗",
}


@never_cache
@require_http_methods(["GET", "POST"])
def sign_in(request: HttpRequest) -> HttpResponse:
    target = request.POST.get("next") or request.GET.get("next") or "/"
    if not url_has_allowed_host_and_scheme(target, {request.get_host()}, request.is_secure()):
        target = "/"
    if request.method == "GET":
        return render(request, "unpooled/sign_in.html", {"next": target})
    try:
        user = accounts.check_sign_in(
            request, request.POST.get("username", ""), request.POST.get("password", "")
        )
    except Refused as refusal:
        context = {"next": target, "problem": f"{refusal.message} {refusal.remedy}"}
        return render(request, "unpooled/sign_in.html", context, status=refusal.status)
    login(request, user)
    return redirect(target)


@require_POST
def sign_out(request: HttpRequest) -> HttpResponse:
    logout(request)
    return redirect("/sign-in")


@never_cache
@require_GET
@login_required
def studies(request: HttpRequest) -> HttpResponse:
    found = selectors.visible_studies(_person(request)).filter(archived=False)
    rows = [
        {"study": study, "icon": ICONS[StudyState(study.state)], "joined": _joined(study)}
        for study in found.select_related("owner").prefetch_related("cohorts")
    ]
    return render(request, "unpooled/studies.html", {"rows": rows})


def _joined(study: Study) -> int:
    return sum(bool(cohort.public_key) for cohort in study.cohorts.all())


@never_cache
@require_GET
@login_required
def study(request: HttpRequest, study: str) -> HttpResponse:
    found = _visible(request, study)
    context: dict[str, Any] = {
        "study": found,
        "icon": ICONS[StudyState(found.state)],
        "progress": selectors.progress(found),
        "traffic": selectors.traffic(found),
        "over": found.state in OVER,
        "files": found.result_files.all(),
        "log": found.log.order_by("-id")[:50],
    }
    return render(request, "unpooled/study.html", context)


@require_GET
@login_required
def result(request: HttpRequest, study: str, name: str) -> FileResponse:
    found = _visible(request, study)
    path = selectors.result_path(found, name)
    if path is None:
        raise Http404
    return FileResponse(path.open("rb"), as_attachment=True, filename=name)


def _person(request: HttpRequest) -> Any:
    return request.user


def _visible(request: HttpRequest, study: str) -> Study:
    found = selectors.visible_studies(_person(request)).filter(pk=study).first()
    if found is None:
        raise Http404
    return found
