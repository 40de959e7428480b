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

from unpooled.described.file_list import stem_of_reports
from unpooled.pictures import manhattan, quantiles
from unpooled_server.reads import compared, pictures
from unpooled_server.reads.result_columns import Results, results_of
from unpooled_webapp.api import picture_forms
from unpooled_webapp.api.access import OpenToTokens, visible
from unpooled_webapp.api.parameters import PHENOTYPE, number


def _results(request: Request, study: str, parameter: str = PHENOTYPE.name) -> Results:
    """The results of a study, or of the phenotype that the address names."""
    return results_of(visible(request, study), request.query_params.get(parameter, ""))


def _precomputed(request: Request, results: Results, name: str, packed: bytes) -> HttpResponse:
    """Compressed JSON as it lies on disk. `name` is what it shows, with the version of its form."""
    takes_gzip = "gzip" in request.headers.get("Accept-Encoding", "")
    body = packed if takes_gzip else gzip.decompress(packed)
    response = HttpResponse(body, content_type="application/json")
    if takes_gzip:
        response.headers["Content-Encoding"] = "gzip"
    response.headers["ETag"] = f'W/"{results.folder}-{name}"'
    patch_vary_headers(response, ("Accept-Encoding",))
    return response


class ManhattanView(OpenToTokens):
    @extend_schema(parameters=[PHENOTYPE], responses=picture_forms.Manhattan)
    def get(self, request: Request, study: str) -> HttpResponse:
        """The Manhattan plot: segments of cells, and the strongest variants as points."""
        found = _results(request, study)
        return _precomputed(request, found, f"manhattan-{manhattan.VERSION}", pictures.whole_genome(found))


class RegionView(OpenToTokens):
    @extend_schema(
        parameters=[
            PHENOTYPE,
            OpenApiParameter("chromosome", str, required=True, description="such as 7 or X"),
            OpenApiParameter("from", int, description="first position; 0 if not given"),
            OpenApiParameter("to", int, description="last position; that of the last variant if not given"),
        ],
        responses=picture_forms.Region,
    )
    def get(self, request: Request, study: str) -> HttpResponse:
        """A region of the Manhattan plot: single variants if they are few, else finer cells."""
        found, asked = _results(request, study), request.query_params
        first = number(request, "from", 0, pictures.LARGEST)
        last = number(request, "to", 0, pictures.LARGEST) if "to" in asked else None
        return Response(pictures.region(found, asked.get("chromosome", ""), first, last))


class SurroundingsView(OpenToTokens):
    @extend_schema(
        parameters=[
            PHENOTYPE,
            OpenApiParameter("chromosome", str, required=True, description="such as 7 or X"),
            OpenApiParameter("from", int, required=True, description="first position"),
            OpenApiParameter("to", int, required=True, description="last position"),
        ],
        responses=picture_forms.Surroundings,
    )
    def get(self, request: Request, study: str) -> HttpResponse:
        """Return what lies in a region besides variants: genes of the study's build, and recombination."""
        found, asked = _results(request, study), request.query_params
        first, last = (number(request, name, 0, pictures.LARGEST) for name in ("from", "to"))
        return Response(pictures.surroundings(found, asked.get("chromosome", ""), first, last))


class PlacesView(OpenToTokens):
    @extend_schema(
        parameters=[
            PHENOTYPE,
            OpenApiParameter(
                "search",
                str,
                required=True,
                description="a gene such as FTO or its first letters, an ID, or a place such as 7:1000-2000",
            ),
        ],
        responses=picture_forms.Places,
    )
    def get(self, request: Request, study: str) -> HttpResponse:
        """Find where a search leads: up to ten places, the best first."""
        search = request.query_params.get("search", "")[:200]
        return Response({"places": pictures.places(_results(request, study), search)})


class ComparisonView(OpenToTokens):
    @extend_schema(
        parameters=[
            PHENOTYPE,
            OpenApiParameter("other_phenotype", str, description="likewise, of the other study"),
        ],
        responses=picture_forms.Comparison,
    )
    def get(self, request: Request, study: str, other: str) -> HttpResponse:
        """The loci of two studies, or of two phenotypes, side by side, the strongest first."""
        both = _results(request, study), _results(request, other, "other_phenotype")
        return Response(compared.loci(*both))


class QuantilesView(OpenToTokens):
    @extend_schema(parameters=[PHENOTYPE], responses=picture_forms.Quantiles)
    def get(self, request: Request, study: str) -> HttpResponse:
        """The QQ plot with its band and lambda: of all variants, and by frequency."""
        found = _results(request, study)
        return _precomputed(request, found, f"qq-{quantiles.VERSION}", pictures.quantiles(found))


class VariantsView(OpenToTokens):
    @extend_schema(
        parameters=[
            PHENOTYPE,
            OpenApiParameter(
                "search",
                str,
                description="an ID, a place such as 7:1234 or 7:1-2000, a gene, or a part of a lead's ID",
            ),
            OpenApiParameter("start", int, description="index of the first row; 0 if not given"),
            OpenApiParameter("count", int, description="rows, up to 1,000; 100 if not given"),
        ],
        responses=picture_forms.Variants,
    )
    def get(self, request: Request, study: str) -> HttpResponse:
        """The loci, the strongest first; or the variants that a search finds among all."""
        found = _results(request, study)
        start, count = number(request, "start", 0, 2**31), number(request, "count", 100, 1000)
        search: Any = request.query_params.get("search", "")
        return Response(pictures.variants(found, search[:200], start, count))


class LociView(OpenToTokens):
    @extend_schema(parameters=[PHENOTYPE], responses={(200, "text/csv"): OpenApiTypes.STR})
    def get(self, request: Request, study: str) -> HttpResponse:
        """Download the table of loci."""
        found = _results(request, study)
        response = HttpResponse(pictures.loci_csv(found), content_type="text/csv; charset=utf-8")
        name = f"{stem_of_reports(found.plan)}.loci.csv"
        response.headers["Content-Disposition"] = f'attachment; filename="{name}"'
        return response
