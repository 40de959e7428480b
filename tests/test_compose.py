"""Compose files, Dockerfiles and manifests, checked without an engine: what they name is there, and fits."""

from __future__ import annotations

import ast
import importlib
import importlib.metadata
import importlib.util
import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import click
import pytest
import yaml
from starlette.routing import Match, Router

from unpooled_compensator import app as compensator_app

from .patience import PATIENCE

ROOT = Path(__file__).resolve().parents[1]
COMPOSE_FILES = ("docker-compose.yml", "compensator/docker-compose.yml")
UNITS = sorted((ROOT / "packaging/systemd").glob("*.service"))
DOCKERFILES = ("webapp/Dockerfile", "client/Dockerfile", "compensator/Dockerfile")
OURS = ("unpooled", "unpooled-client", "unpooled-compensator")
VARIABLE = re.compile(r"\$\{(?P<name>\w+)(?::?[-?](?P<rest>[^}]*))?\}")


def services(compose: str) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = yaml.safe_load((ROOT / compose).read_text())["services"]
    return found


def every_service() -> list[Any]:
    return [
        pytest.param(compose, name, service, id=f"{compose}-{name}")
        for compose in COMPOSE_FILES
        for name, service in services(compose).items()
    ]


SERVICES = pytest.mark.parametrize(("compose", "name", "service"), every_service())
BUILT = pytest.mark.parametrize(
    ("compose", "name", "service"), [p for p in every_service() if "build" in p.values[2]]
)


def instructions(dockerfile: str) -> list[tuple[str, str]]:
    """(instruction, its text) of a Dockerfile, continued lines joined."""
    text = re.sub(r"\\\n\s*", "", (ROOT / dockerfile).read_text())
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    return [(word.upper(), rest.strip()) for word, _, rest in (line.partition(" ") for line in lines)]


def words(dockerfile: str, instruction: str) -> list[str]:
    """The last CMD or ENTRYPOINT of a Dockerfile, in its list form."""
    found = [rest for name, rest in instructions(dockerfile) if name == instruction]
    return json.loads(found[-1]) if found else []


def dockerfile_of(service: dict[str, Any]) -> str:
    return str(service["build"]["dockerfile"])


def command_of(service: dict[str, Any]) -> list[str]:
    """Return what the container runs: the image's entry point, then the service's command or else the
    image's.
    """
    dockerfile = dockerfile_of(service)
    return [*words(dockerfile, "ENTRYPOINT"), *(service.get("command") or words(dockerfile, "CMD"))]


def healthcheck_of(service: dict[str, Any]) -> str:
    if "healthcheck" in service:
        return " ".join(service["healthcheck"]["test"])
    found = [rest for name, rest in instructions(dockerfile_of(service)) if name == "HEALTHCHECK"]
    return found[-1] if found else ""


def option(command: list[str], name: str) -> str:
    return command[command.index(name) + 1]


# Dockerfiles


@pytest.mark.parametrize("dockerfile", DOCKERFILES)
def test_every_copied_folder_is_there_and_not_ignored(dockerfile: str) -> None:
    ignore = next(p for p in (ROOT / f"{dockerfile}.dockerignore", ROOT / ".dockerignore") if p.exists())
    let_in = {line[1:].split("/")[0] for line in ignore.read_text().splitlines() if line.startswith("!")}
    copied = [rest.split() for name, rest in instructions(dockerfile) if name == "COPY"]
    sources = [word for line in copied for word in line[:-1] if not line[0].startswith("--from")]
    assert sources
    for source in sources:
        assert (ROOT / source).is_dir() and source in let_in, source


BASE = next(rest.split()[0] for name, rest in instructions(DOCKERFILES[-1]) if name == "FROM")


def test_what_others_publish_is_named_by_its_digest() -> None:
    """A tag may name another image tomorrow; our own images are built from here."""
    text = "\n".join((ROOT / file).read_text() for file in (*DOCKERFILES, *COMPOSE_FILES))
    named = set(re.findall(r"^(?:FROM|\s*image:) (?!unpooled-)(\S+)", text, re.MULTILINE))
    assert {re.split("[:@]", name)[0] for name in named} == {"python", "node", "postgres", "redis"}
    assert all(re.search(r"@sha256:[0-9a-f]{64}$", name) for name in named), named


@pytest.mark.parametrize("dockerfile", DOCKERFILES)
def test_images_start_from_python_and_run_as_somebody_else(dockerfile: str) -> None:
    lines = instructions(dockerfile)
    *before, wheels, final = [rest.split()[0] for name, rest in lines if name == "FROM"]
    assert wheels == final == BASE and BASE.startswith("python:3.12-slim@")
    assert {image.split("@")[0] for image in before} <= {"node:22-slim"}  # only its pages are in the image
    (user,) = [rest for name, rest in lines if name == "USER"]
    assert f" {user}" in " ".join(rest for name, rest in lines if name == "RUN" and "useradd" in rest)


@pytest.mark.parametrize(
    "file", [*COMPOSE_FILES, *DOCKERFILES, *sorted(map(str, (ROOT / "packaging/kubernetes").rglob("*.yaml")))]
)
def test_no_registry_is_named(file: str) -> None:
    text = (ROOT / file).read_text()
    assert not re.search(r"index-url|extra-index|pypi\.org|docker\.io|ghcr\.io|quay\.io", text)


# Commands


@BUILT
def test_commands_are_known_and_take_their_options(compose: str, name: str, service: dict[str, Any]) -> None:
    check_command(command_of(service))


@BUILT
def test_health_is_asked_by_a_known_command(compose: str, name: str, service: dict[str, Any]) -> None:
    test = service.get("healthcheck", {}).get("test", ["CMD", "python"])
    if test[1] != "python":
        check_command(test[1:])


@pytest.mark.parametrize("dockerfile", DOCKERFILES)
def test_entry_points_are_known(dockerfile: str) -> None:
    check_command([*words(dockerfile, "ENTRYPOINT"), *words(dockerfile, "CMD")])


@pytest.mark.parametrize(
    "command",
    ["unpooled nothing", "unpooled-compensator serve --state x --nonsense", "gunicorn --nonsense", "a b"],
)
def test_a_made_up_command_is_noticed(command: str) -> None:
    with pytest.raises((AssertionError, SystemExit)):
        check_command(command.split())


def check_command(command: list[str]) -> None:
    """AssertionError unless the first word is a console script, and the script takes the other words."""
    script = Path(command[0]).name
    scripts = {point.name: point for point in importlib.metadata.entry_points(group="console_scripts")}
    assert script in scripts, f"{script} is no console script"
    if script in OURS:
        module = importlib.import_module(scripts[script].module)
        group = getattr(module, "cli", None) or module.main
        assert isinstance(group, click.Group)
        _check_click(group, command[1:])
    elif script == "celery":
        _check_celery(command[1:])
    elif script == "gunicorn":
        from gunicorn.config import Config  # type: ignore[import-untyped]

        Config().parser().parse_args(command[1:])
    else:
        raise AssertionError(f"do not know how to check {script}")


def _check_click(group: click.Group, arguments: list[str]) -> None:
    context = click.Context(group)
    if not arguments:
        return
    command = group.get_command(context, arguments[0])
    assert command, f"{group.name} has no command {arguments[0]}"
    try:
        command.make_context(arguments[0], arguments[1:], parent=context)
    except click.UsageError as error:
        raise AssertionError(error.format_message()) from error


def _check_celery(arguments: list[str]) -> None:
    """Celery's commands load the application while they parse, so look at the names of options only."""
    from celery.bin.celery import celery

    assert arguments[:2] == ["-A", "unpooled_webapp.celery"]
    assert importlib.util.find_spec("unpooled_webapp.celery")
    command = celery.get_command(click.Context(celery), arguments[2])
    assert command, arguments[2]
    known = {name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)}
    assert {word for word in arguments[3:] if word.startswith("-")} <= known


def test_one_number_says_how_many_threads_there_are(tmp_path: Path) -> None:
    code = (
        "from gunicorn.app.wsgiapp import WSGIApplication as A\n"
        "from unpooled_webapp import settings\n"
        "print(A().cfg.threads, settings.UNPOOLED_THREADS)"
    )
    command = words("webapp/Dockerfile", "CMD")
    assert command[0] == "gunicorn" and "--threads" not in command
    environment = {**os.environ, "UNPOOLED_HOME": str(tmp_path), "UNPOOLED_THREADS": "200"}
    done = subprocess.run(
        [sys.executable, "-c", code, *command[1:]],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["200", "200"]


# Settings


def settings_read() -> tuple[set[str], set[str]]:
    """(all variables that the web application reads, those of them that may lie in a file)."""
    plain: set[str] = set()
    secret: set[str] = set()
    for file in (ROOT / "webapp/src").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
                name, function = node.args[0].value, ast.unparse(node.func)
                if isinstance(name, str) and name.startswith("UNPOOLED_"):
                    (secret if function.endswith("secret") else plain).add(name)
    return plain | secret, secret


@BUILT
def test_every_variable_is_one_that_the_settings_read(
    compose: str, name: str, service: dict[str, Any]
) -> None:
    known, secret = settings_read()
    known |= {f"{name}_FILE" for name in secret}
    set_here = set(service.get("environment", {}))
    for instruction, rest in instructions(dockerfile_of(service)):
        if instruction == "ENV":
            set_here |= {word.partition("=")[0] for word in shlex.split(rest)}
    ours = {variable for variable in set_here if variable.startswith("UNPOOLED_")}
    assert ours <= known, ours - known


def test_the_demo_sets_what_the_compose_file_asks_for() -> None:
    asked = {match["name"] for match in VARIABLE.finditer((ROOT / "docker-compose.yml").read_text())}
    required = set(re.findall(r"\$\{(\w+):\?", (ROOT / "docker-compose.yml").read_text()))
    lines = (ROOT / "demo.env").read_text().splitlines()
    given = dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))
    assert required <= given.keys() <= asked
    compensator = services("docker-compose.yml")["compensator"]
    port = option(command_of(compensator), "--port")
    assert given["UNPOOLED_COMPENSATOR_URL"] == f"http://compensator:{port}"
    assert given["UNPOOLED_ONE_OPERATOR"] == "1"


@SERVICES
def test_secrets_are_files_that_are_declared(compose: str, name: str, service: dict[str, Any]) -> None:
    declared = yaml.safe_load((ROOT / compose).read_text()).get("secrets", {})
    assert set(service.get("secrets", ())) <= declared.keys()
    assert all(set(secret) == {"file"} for secret in declared.values())
    text = json.dumps([service.get("environment", {}), service.get("command", "")])
    used = set(re.findall(r"/run/secrets/([\w-]+)", text))
    assert used == set(service.get("secrets", ())), "mounted and used are not the same"


def test_no_password_is_in_the_environment_of_a_container() -> None:
    """Whoever may look at a container sees its variables."""
    passwords = {
        f"UNPOOLED_{name}" for name in ("SECRET_KEY", "DATABASE_URL", "COMPENSATOR_SECRET", "MAIL_URL")
    }
    assert passwords <= settings_read()[1]
    for name in ("web", "worker", "migrate"):
        given = set(services("docker-compose.yml")[name]["environment"])
        assert not given & passwords and {f"{each}_FILE" for each in passwords} <= given


# Ports and health


@BUILT
def test_ports_agree(compose: str, name: str, service: dict[str, Any]) -> None:
    command, dockerfile = command_of(service), dockerfile_of(service)
    if "--bind" in command:
        port = option(command, "--bind").rpartition(":")[2]
    elif "--port" in command:
        port = option(command, "--port")
    else:
        assert "ports" not in service
        return
    published = [VARIABLE.sub("0", mapping).rpartition(":")[2] for mapping in service.get("ports", ())]
    exposed = [rest for instruction, rest in instructions(dockerfile) if instruction == "EXPOSE"]
    assert {port, *published} == {port}
    assert exposed == [port]
    assert re.search(rf"\b{port}\b", healthcheck_of(service)), "health is asked at another port"


@pytest.mark.parametrize("compose", COMPOSE_FILES)
def test_the_published_ports_are_for_this_machine_only(compose: str) -> None:
    for service in services(compose).values():
        assert all(mapping.startswith("127.0.0.1:") for mapping in service.get("ports", ()))


def test_the_web_applications_health_page_is_there(tmp_path: Path) -> None:
    path = re.search(r"http://127\.0\.0\.1:\d+(/\w+)", healthcheck_of(services("docker-compose.yml")["web"]))
    assert path
    script = (
        "import django; django.setup(); from django.urls import resolve; resolve(__import__('sys').argv[1])"
    )
    environment = {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "unpooled_webapp.settings",
        "UNPOOLED_HOME": str(tmp_path),
    }
    subprocess.run([sys.executable, "-c", script, path[1]], check=True, env=environment, timeout=PATIENCE)


def test_the_compensators_health_page_is_there() -> None:
    asked = re.search(r"GET (/\w+)", healthcheck_of(services("docker-compose.yml")["compensator"]))
    assert asked
    scope: dict[str, Any] = {"type": "http", "method": "GET", "path": asked[1], "headers": []}
    app: Any = compensator_app.create_app(None, bytes(32))  # type: ignore[arg-type]
    while not isinstance(app, Router):
        app = getattr(app, "router", None) or next(v for v in vars(app).values() if callable(v))
    assert any(route.matches(scope)[0] is Match.FULL for route in app.routes)


# Hardening


@SERVICES
def test_services_have_as_few_rights_as_they_need(compose: str, name: str, service: dict[str, Any]) -> None:
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert service["mem_limit"] and service["pids_limit"]
    assert set(service["logging"]["options"]) == {"max-size", "max-file"}  # no log fills the disk
    if "build" in service:
        uid = re.search(r"--uid (\d+)", (ROOT / dockerfile_of(service)).read_text())
        assert uid and str(service.get("user", uid[1])).split(":")[0] == uid[1] != "0"
    else:
        assert service["user"] not in ("root", "0")


def test_the_platforms_compensator_is_for_the_demo_and_has_no_way_out() -> None:
    compose = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
    compensator = compose["services"]["compensator"]
    assert compensator["profiles"] == ["demo"]
    assert "ports" not in compensator
    for network in compensator["networks"]:
        assert compose["networks"][network] == {"internal": True}
    assert not any("profiles" in s for name, s in compose["services"].items() if name != "compensator")


def test_the_stores_are_reached_from_inside_only() -> None:
    compose = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
    for name in ("postgres", "redis"):
        assert compose["services"][name]["networks"] == ["stores"]
    assert compose["networks"]["stores"] == {"internal": True}


# Units of systemd


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.stem)
def test_a_unit_runs_a_known_command_with_known_settings_and_few_rights(unit: Path) -> None:
    lines = [line.partition("=")[::2] for line in unit.read_text().splitlines() if re.match(r"\w+=", line)]
    said = dict(lines)
    check_command(said["ExecStart"].replace("%S", "/var/lib").split())
    known, secret = settings_read()
    set_here = {value.partition("=")[0] for name, value in lines if name == "Environment"}
    assert set_here - {"NUMBA_CACHE_DIR"} <= {f"{name}_FILE" for name in secret & known}
    credentials = {value.partition(":")[0] for name, value in lines if name == "LoadCredential"}
    assert credentials == set(re.findall(r"=%d/([\w-]+)", unit.read_text()))
    assert said["DynamicUser"] == "yes" and said["CapabilityBoundingSet"] == "" and said["MemoryMax"]
    assert said["ProtectSystem"] == "strict" and said["StateDirectoryMode"] == "0700"
    assert f"%S/{said['StateDirectory']}" in said["ExecStart"].split()


# Manifests for Kubernetes

MANIFESTS = ROOT / "packaging/kubernetes"
FOLDERS = [MANIFESTS, MANIFESTS / "compensator"]


def manifests(folder: Path) -> list[dict[str, Any]]:
    """Every object that `kubectl apply -k` makes of a folder."""
    listed = yaml.safe_load((folder / "kustomization.yaml").read_text())["resources"]
    return [each for name in listed for each in yaml.safe_load_all((folder / name).read_text())]


def pods() -> list[Any]:
    deployed = [each for folder in FOLDERS for each in manifests(folder) if each["kind"] == "Deployment"]
    return [pytest.param(each, id=each["metadata"]["name"]) for each in deployed]


PODS = pytest.mark.parametrize("deployment", pods())


@PODS
def test_a_pod_has_limits_and_few_rights(deployment: dict[str, Any]) -> None:
    assert deployment["spec"]["strategy"] == {"type": "Recreate"}  # one release at a time
    pod = deployment["spec"]["template"]["spec"]
    uid = re.search(r"--uid (\d+)", (ROOT / dockerfile_of_pod(pod)).read_text())
    assert uid and pod["securityContext"]["runAsUser"] == int(uid[1])
    assert pod["securityContext"]["runAsNonRoot"] and not pod["automountServiceAccountToken"]
    for container in (*pod.get("initContainers", ()), *pod["containers"]):
        rights = container["securityContext"]
        assert rights["readOnlyRootFilesystem"] and not rights["allowPrivilegeEscalation"]
        assert rights["capabilities"] == {"drop": ["ALL"]}
        assert container["resources"]["limits"]["memory"]
        mounted = {mount["name"] for mount in container["volumeMounts"]}
        assert mounted == {volume["name"] for volume in pod["volumes"]}


def dockerfile_of_pod(pod: dict[str, Any]) -> str:
    (image,) = {each["image"] for each in (*pod.get("initContainers", ()), *pod["containers"])}
    return {"unpooled-platform": DOCKERFILES[0], "unpooled-compensator": DOCKERFILES[2]}[image]


@PODS
def test_a_pod_runs_known_commands_and_is_asked_at_pages_that_are_there(deployment: dict[str, Any]) -> None:
    pod = deployment["spec"]["template"]["spec"]
    dockerfile, (main,) = dockerfile_of_pod(pod), pod["containers"]
    entry, usual = (words(dockerfile, name) for name in ("ENTRYPOINT", "CMD"))
    check_command(main.get("command") or [*entry, *(main.get("args") or usual)])
    for container in pod.get("initContainers", ()):
        check_command(container["command"])
    probes = {name: probe for name, probe in main.items() if name.endswith("Probe")}
    assert "livenessProbe" in probes
    for probe in probes.values():
        if "exec" in probe:
            shell, command, line = probe["exec"]["command"]
            assert (shell, command) == ("sh", "-c")
            check_command(shlex.split(line))
        else:
            assert probe["httpGet"]["path"] in ("/live", "/ready", "/health")
            assert probe["httpGet"]["port"] == main["ports"][0]["name"]
            exposed = [rest for instruction, rest in instructions(dockerfile) if instruction == "EXPOSE"]
            assert exposed == [str(main["ports"][0]["containerPort"])]


def test_a_pods_settings_are_read_and_its_secrets_are_files_of_one_secret() -> None:
    known, secret = settings_read()
    lines = (MANIFESTS / "settings.env").read_text().splitlines()
    given = dict(line.split("=", 1) for line in lines)
    assert given.keys() <= known | {f"{name}_FILE" for name in secret}
    files = {Path(value) for name, value in given.items() if name.endswith("_FILE")}
    assert {file.parent for file in files} == {Path("/run/secrets/unpooled")}
    described = (ROOT / "docs/operations.md").read_text()
    asked = re.search(r"create secret generic unpooled (.*?)\n\S", described, re.S)
    assert asked and set(re.findall(r"--from-file=([\w-]+)", asked[1])) == {file.name for file in files}
    for each in manifests(MANIFESTS):
        if each["kind"] == "Deployment":
            containers = each["spec"]["template"]["spec"]
            for container in (*containers["initContainers"], *containers["containers"]):
                assert container["envFrom"] == [{"configMapRef": {"name": "settings"}}]


def test_services_find_their_pods() -> None:
    for folder in FOLDERS:
        found = manifests(folder)
        labels = [
            each["spec"]["template"]["metadata"]["labels"] for each in found if each["kind"] == "Deployment"
        ]
        for each in found:
            if each["kind"] == "Service":
                assert each["spec"]["selector"] in labels


# Wheels


@pytest.mark.parametrize("folder", ["core", "compensator", "client", "server", "webapp", "networks"])
def test_every_file_of_a_package_is_in_its_wheel(folder: str) -> None:
    (package,) = (path.parent for path in (ROOT / folder / "src").glob("*/__init__.py"))
    setup = tomllib.loads((ROOT / folder / "pyproject.toml").read_text())["tool"]["setuptools"]
    patterns = [*setup["package-data"].get("*", ()), *setup["package-data"].get(package.name, ())]
    packed = {path for pattern in patterns for path in package.glob(pattern)}
    caches = ("__pycache__", ".mypy_cache")
    files = {path for path in package.rglob("*") if path.is_file() and not set(caches) & set(path.parts)}
    assert {path for path in files - packed if path.suffix != ".py"} == set()
