"""`unpooled genome`: what the pictures show beside the results, from files that the operator has."""

from __future__ import annotations

from pathlib import Path

import click

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.group()
def genome() -> None:
    """Show other genes, or recombination rates, in pictures of results."""
    import django

    django.setup()


@genome.command()
@click.argument("build")
@click.argument("gtf", type=_FILE)
@click.option("--source", default="", help="Where they are from, as pages say it.")
def genes(build: str, gtf: Path, source: str) -> None:
    """Show the genes of a GTF of Ensembl, GENCODE or NCBI below regions of studies on BUILD.

    GRCh37 and GRCh38 come with the platform; GTF takes the place of what is there.
    """
    from unpooled_server.reads import annotation

    count = annotation.import_genes(build, gtf, source)
    click.echo(f"{count:,} genes of {build} are kept. Pages show them at once.")


@genome.command()
@click.argument("build")
@click.argument("maps", type=_FILE, nargs=-1, required=True)
def recombination(build: str, maps: tuple[Path, ...]) -> None:
    """Draw recombination rates above the genes of regions of studies on BUILD, from genetic MAPS."""
    from unpooled_server.reads import annotation

    count = annotation.import_recombination(build, maps)
    click.echo(f"Recombination rates at {count:,} positions of {build} are kept. Pages show them at once.")
