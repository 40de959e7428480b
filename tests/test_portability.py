"""What a cohort installs runs on Windows and macOS too: its source is read for what one of them lacks.

It reads the client and the part of the library that the client imports. A use is fine in a function that
looks at `os.name` or `sys.platform`, or where ALLOWED gives the reason.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from .test_imports import ROOT, imports

POSIX_MODULES = "crypt curses fcntl grp nis posix pty pwd readline resource spwd syslog termios tty"
WINDOWS_MODULES = "_winapi msvcrt nt winreg winsound"

# Names that a module has on POSIX only, as typeshed knows them.
POSIX_NAMES = {
    "os": "chown chroot confstr ctermid eventfd fchdir fchmod fchown fork forkpty fpathconf fstatvfs getegid "
    "geteuid getgid getgrouplist getgroups getloadavg getpgid getpgrp getpriority getresgid getresuid getsid "
    "getuid getxattr initgroups killpg lchmod lchown listxattr lockf major makedev memfd_create minor mkfifo "
    "mknod nice openpty pathconf posix_fadvise posix_fallocate posix_openpt posix_spawn posix_spawnp pread "
    "preadv ptsname pwrite pwritev readv register_at_fork sched_getaffinity sched_setaffinity sched_yield "
    "sendfile setegid seteuid setgid setgroups setpgid setpriority setregid setresgid setreuid setsid setuid "
    "setxattr splice statvfs sync sysconf tcgetpgrp tcsetpgrp uname wait wait3 wait4 waitid writev "
    "O_NOFOLLOW O_CLOEXEC O_DIRECTORY O_DIRECT O_DSYNC O_NOATIME O_NOCTTY O_NONBLOCK O_SYNC O_TMPFILE",
    "signal": "SIGALRM SIGCHLD SIGCONT SIGHUP SIGIO SIGKILL SIGPIPE SIGPOLL SIGPROF SIGQUIT SIGSTOP SIGTSTP "
    "SIGTTIN SIGTTOU SIGURG SIGUSR1 SIGUSR2 SIGVTALRM SIGWINCH alarm getitimer pause pthread_kill "
    "pthread_sigmask setitimer siginterrupt sigpending sigtimedwait sigwait sigwaitinfo",
    "socket": "AF_UNIX AF_NETLINK SO_REUSEPORT CMSG_LEN recv_fds send_fds sethostname",
    "select": "poll epoll kqueue devpoll",
    "time": "tzset clock_gettime clock_settime pthread_getcpuclockid",
}
# Calls that do something else on Windows, or need rights there that people lack.
METHODS = {
    "rename": "fails on Windows where the target exists: use replace",
    "chmod": "knows only read-only on Windows",
    "symlink_to": "wants administrator rights on Windows",
    "symlink": "wants administrator rights on Windows",
    "hardlink_to": "is not on every disk",
    "link": "is not on every disk",
    "add_signal_handler": "is for POSIX only",
}
KEYWORDS = {"preexec_fn", "pass_fds", "start_new_session", "process_group", "extra_groups", "umask"}
MODE_AT = {"open": 1, "fdopen": 1, "TemporaryFile": 0, "NamedTemporaryFile": 0}
"""Which argument of a call is the mode of a file."""
PLACES = re.compile(r"/(tmp|dev|proc|sys|etc|var|usr|home|opt)(/|$)")
# Of strftime; and what C libraries have each for itself.
DIRECTIVES = re.compile(r"%(-[a-zA-Z]|[CDeFgGhklnPrRsTuV])")

ALLOWED = {
    ("client/src/unpooled_client/machine.py", "/sys/fs/cgroup"): "what does not exist is passed over",
    ("client/src/unpooled_client/machine.py", "/proc/self/cgroup"): "what does not exist is passed over",
    ("client/src/unpooled_client/window/join.py", "open"): "it opens a dialog",
    ("client/src/unpooled_client/window/run.py", "open"): "it opens a dialog",
    ("client/src/unpooled_client/window/study_view.py", "open"): "it opens a study",
}


def complaints(file: Path) -> Iterator[tuple[int, str, str]]:
    """(line, what is used, why not) of everything in a file that one of the systems lacks."""
    tree = ast.parse(file.read_text(encoding="utf-8"), str(file))
    for scope, node in _nodes(tree):
        for what, why in _judge(node):
            if scope is None or not _looks_at_the_system(scope):
                yield getattr(node, "lineno", 0), what, why


def _nodes(tree: ast.AST, scope: ast.AST | None = None) -> Iterator[tuple[ast.AST | None, ast.AST]]:
    """Every node with the outermost function that it is in; no docstrings."""
    for child in ast.iter_child_nodes(tree):
        if isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant):
            continue
        inner = scope or (child if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef) else None)
        yield inner, child
        yield from _nodes(child, inner)


def _looks_at_the_system(function: ast.AST) -> bool:
    names = {ast.unparse(node) for node in ast.walk(function) if isinstance(node, ast.Attribute)}
    return bool(names & {"os.name", "sys.platform"})


def _judge(node: ast.AST) -> Iterator[tuple[str, str]]:
    match node:
        case ast.Import(names=names):
            yield from (judged for alias in names for judged in _module(alias.name))
        case ast.ImportFrom(module=str(module), names=names):
            yield from _module(module)
            yield from (judged for alias in names for judged in _name(module, alias.name))
        case ast.Attribute(value=ast.Name(id=module), attr=name):
            yield from _name(module, name)
        case ast.Call():
            yield from _call(node)
        case ast.Constant(value=str(text)) if PLACES.match(text):
            yield text, "is a place that Windows has not"
        case ast.Constant(value=str(text)) if DIRECTIVES.search(text) and "%Y" in text:
            yield text, "is no form of a date everywhere"


def _module(module: str) -> Iterator[tuple[str, str]]:
    if module.split(".")[0] in POSIX_MODULES.split():
        yield module, "is not on Windows"
    if module.split(".")[0] in WINDOWS_MODULES.split():
        yield module, "is on Windows only"


def _name(module: str, name: str) -> Iterator[tuple[str, str]]:
    if name in POSIX_NAMES.get(module, "").split():
        yield f"{module}.{name}", "is not on Windows"


def _call(call: ast.Call) -> Iterator[tuple[str, str]]:
    name = getattr(call.func, "attr", getattr(call.func, "id", ""))
    given = {keyword.arg for keyword in call.keywords}
    if name in METHODS and isinstance(call.func, ast.Attribute):
        yield name, METHODS[name]
    yield from ((f"{word}=", "is for POSIX only") for word in sorted(KEYWORDS) if word in given)
    text = name in ("Popen", "run", "check_output") and given & {"text", "universal_newlines"}
    if (_opens_text(call, name) or text) and "encoding" not in given:
        yield name, "goes by the system's encoding: give encoding="


def _opens_text(call: ast.Call, name: str) -> bool:
    """Whether a call opens a file as text and leaves its encoding to the system."""
    if name in ("read_text", "write_text"):
        return len(call.args) <= (name == "write_text")
    if name not in MODE_AT or _is_of_another(call):
        return False
    at = 0 if name == "open" and isinstance(call.func, ast.Attribute) else MODE_AT[name]  # Path.open
    modes = [keyword.value for keyword in call.keywords if keyword.arg == "mode"] + call.args[at : at + 1]
    mode = getattr(modes[0], "value", "r") if modes else ("w+b" if "Temporary" in name else "r")
    return "b" not in str(mode)


def _is_of_another(call: ast.Call) -> bool:
    """os.open takes no encoding; webbrowser.open and the like open no file."""
    owner = getattr(getattr(call.func, "value", None), "id", "")
    return bool(owner in ("os", "webbrowser", "tarfile", "zipfile", "Image") and call.func.attr == "open")  # type: ignore[attr-defined]


def sources() -> list[Path]:
    """The client's files, and those of the library that they import, by way of others too."""
    found: dict[str, Path] = {}
    client = ROOT / "client" / "src"
    waiting = [(_importer(file, client), file) for file in client.rglob("*.py")]
    while waiting:
        importer, file = waiting.pop()
        if importer in found:
            continue
        found[importer] = file
        for _, imported in imports(file, importer):
            waiting += _library(imported)
    return sorted(found.values())


def _importer(file: Path, source: Path) -> str:
    return ".".join(file.relative_to(source).with_suffix("").parts).removesuffix(".__init__")


def _library(imported: str) -> Iterator[tuple[str, Path]]:
    """The modules of the library in a name such as unpooled.protocol.codec.encode."""
    source, parts = ROOT / "core" / "src", imported.split(".")
    if parts[0] != "unpooled":
        return
    for count in range(1, len(parts) + 1):
        path = source.joinpath(*parts[:count])
        for file in (path.with_suffix(".py"), path / "__init__.py"):
            if file.exists():
                yield ".".join(parts[:count]), file


def test_the_client_uses_nothing_that_a_system_lacks() -> None:
    files = sources()
    assert any(file.parts[-2:] == ("protocol", "masking.py") for file in files)
    found = {
        (file.relative_to(ROOT).as_posix(), line, what, why)
        for file in files
        for line, what, why in complaints(file)
        if (file.relative_to(ROOT).as_posix(), what) not in ALLOWED
    }
    assert not found, "\n".join(f"{file}:{line}: {what} {why}" for file, line, what, why in sorted(found))


def test_nothing_is_allowed_that_is_no_longer_there() -> None:
    used = {
        (file.relative_to(ROOT).as_posix(), what) for file in sources() for _, what, _ in complaints(file)
    }
    assert set(ALLOWED) <= used


@pytest.mark.parametrize(
    "line",
    [
        "import fcntl",
        "from termios import tcgetattr",
        "import winreg",
        "os.fork()",
        "print(os.getuid())",
        "from os import setsid",
        "os.kill(pid, signal.SIGKILL)",
        "signal.signal(signal.SIGHUP, stop)",
        "path.rename(other)",
        "os.rename(a, b)",
        "path.chmod(0o600)",
        "folder = Path('/tmp')",
        "open('/dev/null', 'rb')",
        "open(path)",
        "path.open('w')",
        "path.read_text()",
        "path.write_text(text)",
        "os.fdopen(number, 'a')",
        "NamedTemporaryFile('w')",
        "subprocess.run(command, text=True)",
        "subprocess.Popen(command, start_new_session=True)",
        "now.strftime('%-d %B %Y')",
        "socket.socket(socket.AF_UNIX)",
    ],
)
def test_the_reader_sees(tmp_path: Path, line: str) -> None:
    file = tmp_path / "made_up.py"
    file.write_text(f'"""Words."""\ndef use():\n    {line}\n', encoding="utf-8")
    assert [number for number, _, _ in complaints(file)] == [3]


@pytest.mark.parametrize(
    "line",
    [
        "os.kill(pid, signal.SIGTERM)",
        "path.replace(other)",
        "open(path, 'rb')",
        "path.open('wb')",
        "path.open(encoding='utf-8')",
        "path.read_text('utf-8')",
        "path.write_text(text, encoding='utf-8')",
        "os.open(path, os.O_RDONLY)",
        "tempfile.TemporaryFile(dir=folder)",
        "now.strftime('%Y-%m-%dT%H:%M:%SZ')",
        "f'/api/v1/{name}'",
        "if os.name == 'posix': os.fork()",
        "if sys.platform == 'linux': import resource",
    ],
)
def test_the_reader_lets_pass(tmp_path: Path, line: str) -> None:
    file = tmp_path / "made_up.py"
    file.write_text(f"def use():\n    {line}\n", encoding="utf-8")
    assert not list(complaints(file))
