"""Pictures of results: Manhattan and QQ plot as numbers, regions, loci, and a search among all variants."""

from __future__ import annotations

import gzip
from typing import Any

from django.http import HttpResponse
from django.utils.cache import patch_vary_headers
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from unpooled.pictures import manhattan, quantiles
from unpooled_server import pictures
from unpooled_server.models import Study
from unpooled_webapp.api import picture_forms
from unpooled_webapp.api.access import visible
from unpooled_webapp.api.parameters import number


def _precomputed(request: Request, study: Study, name: str, packed: bytes) -> HttpResponse:
    """Compressed JSON as it lies on disk. `name` is what it shows, with the version of its form."""
    takes_gzip = "gzip" in request.headers.get("Accept-Encoding", "")
    body = packed if takes_gzip else gzip.decompress(packed)
    response = HttpResponse(body, content_type="application/json")
    if takes_gzip:
        response.headers["Content-Encoding"] = "gzip"
    response.headers["ETag"] = f'W/"{study.results_folder}-{name}"'
    patch_vary_headers(response, ("Accept-Encoding",))
    return response


class ManhattanView(APIView):
    @extend_schema(responses=picture_forms.Manhattan)
    def get(self, request: Request, study: str) -> HttpResponse:
        """The Manhattan plot: segments of cells, and the strongest variants as points."""
        found = visible(request, study)
        return _precomputed(request, found, f"manhattan-{manhattan.VERSION}", pictures.whole_genome(found))


class RegionView(APIView):
    @extend_schema(
        parameters=[
            OpenApiParameter("chromosome", str, required=True, description="such as 7 or X"),
            OpenApiParameter("from", int, description="first position; 0 if not given"),
            OpenApiParameter("to", int, description="last position; that of the last variant if not given"),
        ],
        responses=picture_forms.Region,
    )
    def get(self, request: Request, study: str) -> HttpResponse:
        """A region of the Manhattan plot: single variants if they are few, else finer cells."""
        found, asked = visible(request, study), request.query_params
        first = number(request, "from", 0, pictures.LARGEST)
        last = number(request, "to", 0, pictures.LARGEST) if "to" in asked else None
        return Response(pictures.region(found, asked.get("chromosome", ""), first, last))


class QuantilesView(APIView):
    @extend_schema(responses=picture_forms.Quantiles)
    def get(self, request: Request, study: str) -> HttpResponse:
        """The QQ plot with its band and lambda: of all variants, and by frequency."""
        found = visible(request, study)
        return _precomputed(request, found, f"qq-{quantiles.VERSION}", pictures.quantiles(found))


class VariantsView(APIView):
    @extend_schema(
        parameters=[
            OpenApiParameter(
                "search",
                str,
                description="an ID, a place such as 7:1234 or 7:1000-2000, or a part of a lead variant's ID",
            ),
            OpenApiParameter("start", int, description="index of the first row; 0 if not given"),
            OpenApiParameter("count", int, description="rows, up to 1,000; 100 if not given"),
        ],
        responses=picture_forms.Variants,
    )
    def get(self, request: Request, study: str) -> HttpResponse:
        """The loci, the strongest first; or the variants that a search finds among all."""
        found = visible(request, study)
        start, count = number(request, "start", 0, 2**31), number(request, "count", 100, 1000)
        search: Any = request.query_params.get("search", "")
        return Response(pictures.variants(found, search[:200], start, count))


class LociView(APIView):
    @extend_schema(responses={(200, "text/csv"): OpenApiTypes.STR})
    def get(self, request: Request, study: str) -> HttpResponse:
        """Download the table of loci."""
        table = pictures.loci_csv(visible(request, study))
        response = HttpResponse(table, content_type="text/csv; charset=utf-8")
        response.headers["Content-Disposition"] = 'attachment; filename="study.loci.csv"'
        return response
