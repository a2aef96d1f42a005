"""Settings of every test: how many run at once, and what happens to tests that need what this machine lacks."""

from __future__ import annotations

import gc
import inspect
import os
import re
import signal
import subprocess
import sys
from collections.abc import Collection, Generator
from contextlib import suppress
from pathlib import Path

import pytest
from _pytest.pathlib import import_path

from sdstop.cli.command import collect_seldom
from tests.fixtures import names
from tests.needs import NEEDS, missing

# What the programs that tests start must not inherit: the size of pytest's own terminal, which readline exports;
# unbuffered output, which hides what happens to a full buffer; no bytecode, with which each of hundreds of starts would
# compile all that it imports; options for this pytest; and ignored interrupts, which a shell's jobs in the background
# have.
for variable in ("COLUMNS", "LINES", "PYTEST_ADDOPTS", "PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED"):
    os.environ.pop(variable, None)
    os.unsetenv(variable)
# Nor the settings and columns of the user who runs the tests: no file can be made there.
os.environ |= {
    "XDG_CONFIG_HOME": "/proc/none/config",
    "XDG_STATE_HOME": "/proc/none/state",
}  # nothing can be made there
# Programs written in Go (promtool, Prometheus and others) collect garbage later: a third less of their CPU.
os.environ.setdefault("GOGC", "400")
sys.dont_write_bytecode = False  # of hypothesis either, whose modules pytest rewrites: 2 s for each process

from hypothesis import HealthCheck, is_hypothesis_test, settings  # noqa: E402

# Machines are shared: how long an example takes, or is made, says nothing about the code.
untimed = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("few", parent=untimed, max_examples=20)
settings.register_profile("many", parent=untimed, max_examples=500)
settings.load_profile("few")

# As the command line does. Thousands of tests and their modules are long-lived, too: see pytest_collection_finish.
collect_seldom()
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

LACKS = "lacks"
"""Property of a skipped test's report: the names of the needs that were not met."""
ANYTHING = "anything"
"""Value of --may-lack for a bare machine: tests may lack whatever they declare, and are skipped for nothing else."""
MOST_WORKERS = 8


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("needs", "tests that need programs or privileges")
    group.addoption("--no-skips", action="store_true", help="fail tests that would be skipped")
    group.addoption(
        "--may-lack", action="append", default=[],
        choices=[*(name for name, need in NEEDS.items() if not need.package), ANYTHING], metavar="NEED",
        help=f"with --no-skips, still skip tests for want of NEED, which cannot be installed, or of {ANYTHING!r}",
    )  # fmt: skip


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int | None:
    """Return how many processes share the tests: two for each processor, at most MOST_WORKERS.

    For a part of their time tests wait for deadlines, other programs and an idle screen: on two processors, four
    processes take 251 s and three take 254 s. None (0) share chosen files, tests whose output is shown, and tests with
    markers `vm`, `clusters` or `bench`, which need all processors.
    """
    if "PYTEST_XDIST_AUTO_NUM_WORKERS" in os.environ:
        return None
    chosen = all(Path(argument.partition("::")[0]).is_file() for argument in config.args)
    alone = re.search(r"(?<!not )\b(vm|clusters|bench)\b", config.option.markexpr)
    if chosen or alone or config.option.capture == "no":
        return 0
    return min(len(os.sched_getaffinity(0)) * 2, MOST_WORKERS)


def slow_too(config: pytest.Config) -> bool:
    """Return whether slow tests are asked for."""
    asked: str = config.option.markexpr
    return not asked or re.search(r"(?<!not )\bslow\b", asked) is not None


def pytest_configure(config: pytest.Config) -> None:
    """Try many examples where slow tests are asked for; the ordinary suite tries a few.

    Raises UsageError where a source or a rule differs from its entry in an index: its tests would see the old one.
    """
    if slow_too(config):
        settings.load_profile("many")
    if not hasattr(config, "workerinput") and "PYTEST_CURRENT_TEST" not in os.environ:  # asked once
        script = [sys.executable, str(config.rootpath / "scripts" / "docs"), "--indexes"]
        changed = subprocess.run(script, capture_output=True, text=True, check=False)
        if changed.returncode == 1 and changed.stderr.endswith("; run scripts/docs\n"):
            raise pytest.UsageError(changed.stderr.strip())


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> None:
    """Import a part of the test modules first, in each process another: in a new clone it compiles them for the others.

    All import the same modules in the same order otherwise, and each compiles all of them. An import that fails is
    reported when it is repeated.
    """
    config = session.config
    if not hasattr(config, "workerinput"):
        return
    number, count = int(config.workerinput["workerid"].removeprefix("gw")), config.workerinput["workercount"]
    paths = [config.invocation_params.dir / argument.partition("::")[0] for argument in config.args]
    modules = [found for path in paths for found in (sorted(path.rglob("test_*.py")) if path.is_dir() else [path])]
    for module in modules[number::count]:
        with suppress(Exception):
            import_path(
                module, mode=config.getoption("--import-mode"), root=config.rootpath, consider_namespace_packages=False
            )


def pytest_itemcollected(item: pytest.Item) -> None:
    """Give a test the needs of its fixtures; one that tries examples is a slow test, too."""
    if slow_too(item.config) and is_hypothesis_test(getattr(item, "obj", None)):
        item.add_marker("slow")
    fixtures = getattr(item, "_fixtureinfo", None)
    for definitions in fixtures.name2fixturedefs.values() if fixtures else ():
        if names := getattr(definitions[-1].func, "needs", ()):
            item.add_marker(pytest.mark.needs(*names))


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Have the tests of one story follow each other, wherever they are: a process has a part of the order.

    Thus most stories are opened and judged by one process, once. What is about no story comes first, as it is: there
    are the tests that wait.
    """
    stories = frozenset(names())
    items.sort(key=lambda item: story_of(item, stories))


def story_of(item: pytest.Item, stories: Collection[str]) -> str:
    """Return the story that a test has as a parameter or names; "" for others, and for the users of a module's fixture.

    A module's fixture is made again where tests of other modules come in between.
    """
    if not isinstance(item, pytest.Function):
        return ""
    definitions = item._fixtureinfo.name2fixturedefs.values()
    if any(each[-1].scope in {"class", "module", "package"} for each in definitions):
        return ""
    function = inspect.unwrap(item.function)
    code, known = function.__code__, function.__globals__
    parameters = item.callspec.params.values() if hasattr(item, "callspec") else ()
    named = (*parameters, *code.co_consts, *(known.get(name) for name in code.co_names))
    return next((each for each in named if isinstance(each, str) and each in stories), "")


@pytest.hookimpl(trylast=True)
def pytest_collection_finish(session: pytest.Session) -> None:
    """Have no collection of garbage scan what stays until the end: modules and the tests themselves."""
    gc.freeze()


def _needs_of(item: pytest.Item) -> set[str]:
    return {name for mark in item.iter_markers("needs") for name in mark.args}


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test that needs what is missing; fail one whose need is not in tests/needs.py."""
    if unknown := _needs_of(item) - NEEDS.keys():
        pytest.fail(f"unknown need {', '.join(sorted(unknown))}; see tests/needs.py")
    if lacking := missing(sorted(_needs_of(item))):
        item.user_properties.append((LACKS, [need.name for need in lacking]))
        pytest.skip(f"needs {', '.join(need.name for need in lacking)}")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """With --no-skips, have a skipped test fail unless all it lacks is allowed to be missing."""
    report = yield
    if report.skipped and item.config.getoption("no_skips") and not hasattr(report, "wasxfail"):
        lacking, allowed = _lacks(report), set(item.config.getoption("may_lack"))
        if not lacking or not (lacking <= allowed or ANYTHING in allowed):
            report.outcome = "failed"
            reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
            report.longrepr = f"{reason}, and --no-skips was given"
    return report


def _lacks(report: pytest.TestReport) -> set[str]:
    return {
        str(name) for key, names in report.user_properties if key == LACKS and isinstance(names, list) for name in names
    }


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say in one line how many tests were skipped for what is missing, and how to run them."""
    skipped = [found for report in terminalreporter.stats.get("skipped", ()) if (found := _lacks(report))]
    if not skipped:
        return
    lacking = [need for name, need in NEEDS.items() if any(name in names for names in skipped)]
    ways = []
    if packages := sorted({need.package for need in lacking if need.package}):
        ways.append(f"apt-get install --no-install-recommends {' '.join(packages)}")
    others = dict.fromkeys(need.remedy for need in lacking if not need.package)
    ways += [f"{way} (for {', '.join(need.name for need in lacking if need.remedy == way)})" for way in others]
    tests = "1 test" if len(skipped) == 1 else f"{len(skipped)} tests"
    terminalreporter.line(f"{tests} skipped for missing programs or privileges; to run them: {'; '.join(ways)}")
