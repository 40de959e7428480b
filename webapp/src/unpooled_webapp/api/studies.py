"""Studies: create, watch, steer, download."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.db.models import prefetch_related_objects
from django.http import FileResponse, HttpResponseBase, StreamingHttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from unpooled.described.file_list import results_name
from unpooled_server.cohort_api import bodies
from unpooled_server.errors import Missing, Refused
from unpooled_server.models import Study
from unpooled_server.reads import selectors
from unpooled_server.reads.result_columns import results_of
from unpooled_server.services import by_telephone, changing, invitations, panels, repeating, studies
from unpooled_webapp import accounts
from unpooled_webapp.api import progress_forms, serializers
from unpooled_webapp.api.access import (
    OpenToTokens,
    cohort_of,
    given,
    own,
    person,
    public_url,
    require_coordinator,
    visible,
)
from unpooled_webapp.api.parameters import PHENOTYPE, number

_CONFLICT = {409: serializers.ErrorAnswer}


def detail(request: Request, study: Study, status: int = 200) -> Response:
    """A study in full, as it is now, for the person who asks."""
    fresh = Study.objects.get(pk=study.pk)
    detail = serializers.StudyDetail(fresh, context={"person": person(request)})
    return Response(detail.data, status=status)


class StudiesView(OpenToTokens):
    @extend_schema(
        parameters=[OpenApiParameter("archived", bool, description="the archived ones instead")],
        responses=serializers.StudyRow(many=True),
    )
    def get(self, request: Request) -> Response:
        """The studies that you may see, newest first."""
        user = person(request)
        prefetch_related_objects([user], "groups")  # asked about once, not for each study
        archived = request.query_params.get("archived", "") in ("1", "true")
        found = selectors.visible_studies(user).filter(archived=archived)
        rows = found.select_related("owner").prefetch_related("cohorts")
        return Response(serializers.StudyRow(rows, many=True, context={"person": user}).data)

    @extend_schema(request=serializers.NewStudy, responses={201: serializers.StudyDetail, **_CONFLICT})
    def post(self, request: Request) -> Response:
        """Create a draft."""
        user = person(request)
        require_coordinator(user)
        values = given(request, serializers.NewStudy)
        study = studies.create(
            user,
            values["name"],
            values["description"],
            values["plan"],
            auto_start=values["auto_start"],
            one_operator=settings.UNPOOLED_ONE_OPERATOR,
        )
        return detail(request, study, 201)


class StudyView(OpenToTokens):
    @extend_schema(responses=serializers.StudyDetail)
    def get(self, request: Request, study: str) -> Response:
        """One study."""
        return detail(request, visible(request, study))

    @extend_schema(request=serializers.ChangedStudy, responses={200: serializers.StudyDetail, **_CONFLICT})
    def patch(self, request: Request, study: str) -> Response:
        """Change a study; its plan until a sum is asked for. By another plan all cohorts accept anew."""
        found = own(request, study)
        values = given(request, serializers.ChangedStudy)
        observers = values.pop("observers", None)
        if values:
            changing.change(found, person(request).username, **values)
        if observers is not None:
            found.observers.set(_people(observers))
        return detail(request, found)

    @extend_schema(responses={204: None, **_CONFLICT})
    def delete(self, request: Request, study: str) -> Response:
        """Delete a study that is not running, with its files."""
        studies.delete(own(request, study))
        return Response(status=204)


def _people(names: list[str]) -> list[User]:
    found = list(User.objects.filter(username__in=names))
    if unknown := sorted(set(names) - {user.username for user in found}):
        raise Refused(
            "no-such-person", f"Nobody is called {', '.join(unknown)}.", fields={"observers": "unknown"}
        )
    return found


def _steer(does: Callable[[Study, str], None], says: str) -> type[OpenToTokens]:
    """The address at which its coordinator has something done with a study."""

    class Steer(OpenToTokens):
        @extend_schema(request=None, responses={200: serializers.StudyDetail, **_CONFLICT}, description=says)
        def post(self, request: Request, study: str) -> Response:
            found = own(request, study)
            does(found, person(request).username)
            return detail(request, found)

    return Steer


StartView = _steer(studies.start, "Start a study whose cohorts are all ready.")
OverlapView = _steer(
    panels.accept_overlap, "Go on with the variants that all cohorts' lists share, few as they are."
)
PauseView = _steer(studies.pause_by_request, "Pause a running study: no further question is asked.")
ResumeView = _steer(studies.resume_by_request, "Go on with a paused study.")
AbortView = _steer(
    studies.abort, "End a study without results. It cannot be taken up again, only repeated or duplicated."
)


class DuplicateView(OpenToTokens):
    @extend_schema(request=None, responses={201: serializers.StudyDetail, **_CONFLICT})
    def post(self, request: Request, study: str) -> Response:
        """A new draft of yours with the same plan."""
        found, user = visible(request, study), person(request)
        require_coordinator(user)
        return detail(request, studies.duplicate(found, user), 201)


class RepeatView(OpenToTokens):
    @extend_schema(request=serializers.NewStudy, responses={201: serializers.StudyDetail, **_CONFLICT})
    def post(self, request: Request, study: str) -> Response:
        """Repeat a study of yours that has ended, with the same cohorts: their clients learn of it."""
        found, user = own(request, study), person(request)
        values = given(request, serializers.NewStudy)
        repetition = repeating.repeat(found, user, **values, one_operator=settings.UNPOOLED_ONE_OPERATOR)
        return detail(request, repetition, 201)


class RepeatWithoutView(OpenToTokens):
    @extend_schema(
        request=serializers.LeftCohorts,
        responses={201: serializers.StudyDetail, 404: serializers.ErrorAnswer, **_CONFLICT},
    )
    def post(self, request: Request, study: str) -> Response:
        """Repeat a study of yours by its plan without cohorts that have left for good; it ends, if it runs.

        Whoever sees sums of both can subtract them, and has those of who has left.
        """
        found, user = own(request, study), person(request)
        left = given(request, serializers.LeftCohorts)["cohorts"]
        one_operator = settings.UNPOOLED_ONE_OPERATOR
        return detail(request, repeating.repeat_without(found, user, left, one_operator=one_operator), 201)


class ArchiveView(OpenToTokens):
    @extend_schema(request=None, responses={200: serializers.StudyDetail, **_CONFLICT})
    def post(self, request: Request, study: str) -> Response:
        """Put a study into the archive."""
        found = own(request, study)
        studies.archive(found, person(request).username, True)
        return detail(request, found)

    @extend_schema(operation_id="studies_unarchive", responses={200: serializers.StudyDetail, **_CONFLICT})
    def delete(self, request: Request, study: str) -> Response:
        """Take a study from the archive."""
        found = own(request, study)
        studies.archive(found, person(request).username, False)
        return detail(request, found)


class ListView(OpenToTokens):
    @extend_schema(
        request={"text/plain": OpenApiTypes.BINARY},
        responses={200: serializers.StudyDetail, 411: serializers.ErrorAnswer, **_CONFLICT},
    )
    def put(self, request: Request, study: str) -> Response:
        """The list of variants of a study in panel mode `list`: canonical text, or a .bim file."""
        found = own(request, study)
        raw = request._request  # DRF would look for a parser
        blocks = bodies.blocks(raw, bodies.list_bytes(raw))
        panels.receive_coordinator_list(found, blocks, person(request).username)
        return detail(request, found)


class InvitationsView(OpenToTokens):
    @extend_schema(responses=serializers.CohortRow(many=True))
    def get(self, request: Request, study: str) -> Response:
        """The invited cohorts, and who used their invitations."""
        return Response(serializers.CohortRow(visible(request, study).cohorts.all(), many=True).data)

    @extend_schema(
        request=serializers.NewInvitation, responses={201: serializers.IssuedInvitation, **_CONFLICT}
    )
    def post(self, request: Request, study: str) -> Response:
        """Invite a cohort. The answer holds the invitation, this once."""
        found = own(request, study)
        name = given(request, serializers.NewInvitation)["cohort"]
        text = invitations.invite(found, name, public_url(request), person(request).username)
        return Response({"cohort": name, "invitation": text}, status=201)


class InvitationView(OpenToTokens):
    @extend_schema(responses={204: None, **_CONFLICT})
    def delete(self, request: Request, study: str, cohort: str) -> Response:
        """Withdraw an invitation that nobody has used."""
        found = own(request, study)
        invitations.withdraw(found, cohort_of(found, cohort), person(request).username)
        return Response(status=204)


class RevokeView(OpenToTokens):
    @extend_schema(request=None, responses={200: serializers.CohortRow, **_CONFLICT})
    def post(self, request: Request, study: str, cohort: str) -> Response:
        """Admit nobody with this invitation any more."""
        found = own(request, study)
        invitations.revoke(found, cohort_of(found, cohort), person(request).username)
        return Response(serializers.CohortRow(cohort_of(found, cohort)).data)


class ComparedView(APIView):
    @extend_schema(request=serializers.Compared, responses={200: serializers.StudyDetail, **_CONFLICT})
    def put(self, request: Request, study: str, cohort: str) -> Response:
        """Note in the log that you have compared the fingerprint of a cohort's key by telephone."""
        found = own(request, study)
        row, who = cohort_of(found, cohort), person(request).username
        by_telephone.cohort_compared(found, row, who, **given(request, serializers.Compared))
        return detail(request, found)


class CompensatorComparedView(APIView):
    @extend_schema(request=serializers.Compared, responses={200: serializers.StudyDetail, **_CONFLICT})
    def put(self, request: Request, study: str) -> Response:
        """Note in the log that you have compared the fingerprint of the compensator's key by telephone."""
        found = own(request, study)
        who = person(request).username
        by_telephone.compensator_compared(found, who, **given(request, serializers.Compared))
        return detail(request, found)


class ReissueView(OpenToTokens):
    @extend_schema(request=None, responses={200: serializers.IssuedInvitation, **_CONFLICT})
    def post(self, request: Request, study: str, cohort: str) -> Response:
        """A new invitation for a cohort, shown this once; the former one ends."""
        found = own(request, study)
        text = invitations.reissue(
            found, cohort_of(found, cohort), public_url(request), person(request).username
        )
        return Response({"cohort": cohort, "invitation": text})


def _shown(read: Callable[[Study], Any], form: Any, says: str) -> type[OpenToTokens]:
    """The address at which whoever may see a study reads something about it."""

    class Shown(OpenToTokens):
        @extend_schema(responses=form, description=says)
        def get(self, request: Request, study: str) -> Response:
            return Response(read(visible(request, study)))

    return Shown


def _progress(study: Study) -> Any:
    return progress_forms.Progress(selectors.progress(study)).data


ProgressView = _shown(_progress, progress_forms.Progress, "Steps, cohorts, and who is waited for.")
TrafficView = _shown(selectors.traffic, progress_forms.TrafficTable, "Bytes per party, phase and direction.")
LeavingView = _shown(
    selectors.leaving,
    progress_forms.Leaving(many=True),
    "List what leaves a cohort and who can read it, from the declarations of the study's steps.",
)
PartiesView = _shown(
    selectors.parties,
    progress_forms.Party(many=True),
    "List what each party got, how many bytes, and what it could read.",
)


class LogView(OpenToTokens):
    @extend_schema(responses=serializers.LogLine(many=True))
    def get(self, request: Request, study: str) -> Response:
        """List what happened, oldest first."""
        found = visible(request, study)
        context = {"names": accounts.names_in(found)}
        return Response(serializers.LogLine(found.log.all(), many=True, context=context).data)


class ResultsView(OpenToTokens):
    @extend_schema(responses=serializers.Result(many=True))
    def get(self, request: Request, study: str) -> Response:
        """The files of a study that is done."""
        return Response(serializers.Result(visible(request, study).result_files.all(), many=True).data)


class AllResultsView(OpenToTokens):
    @extend_schema(responses={(200, "application/zip"): OpenApiTypes.BINARY})
    def get(self, request: Request, study: str) -> HttpResponseBase:
        """Download all result files as one zip archive."""
        found = visible(request, study)
        if not found.result_files.exists():
            raise Missing("no-result", "This study has no result files yet.", "Wait until it is done.")
        name = f"{results_name(found.plan)}.zip"
        headers = {"Content-Disposition": f'attachment; filename="{name}"'}
        return StreamingHttpResponse(
            selectors.all_results(found), content_type="application/zip", headers=headers
        )


class TableView(OpenToTokens):
    @extend_schema(
        parameters=[
            PHENOTYPE,
            OpenApiParameter("start", int, description="index of the first row; 0 if not given"),
            OpenApiParameter("count", int, description="rows, 1 to 10,000; 1,000 if not given"),
        ],
        responses=serializers.ResultTable,
    )
    def get(self, request: Request, study: str) -> Response:
        """Rows of the result table, in the panel's order."""
        found = visible(request, study)
        start, count = number(request, "start", 0, 2**31), number(request, "count", 1000, 10_000)
        if found.plan.of_tables:
            raise Missing("no-table", "A study of tables has no table of variants.", "See its result files.")
        results = results_of(found, request.query_params.get(PHENOTYPE.name, ""))
        if not results.columns:
            raise Missing("no-table", "This study has no results yet.", "Wait until it is done.")
        return Response(selectors.table(results, start, count))


class ResultView(OpenToTokens):
    @extend_schema(responses={(200, "application/octet-stream"): OpenApiTypes.BINARY})
    def get(self, request: Request, study: str, name: str) -> HttpResponseBase:
        """Download a result file."""
        found = visible(request, study)
        file = selectors.result_file(found, name)
        if file is None:
            raise Missing("no-result", f"This study has no result file {name[:120]!r}.")
        kind = "application/octet-stream"  # whatever its name ends in
        return FileResponse(file, as_attachment=True, filename=name, content_type=kind)
