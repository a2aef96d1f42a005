"""Libraries without modules that they can do without."""

from __future__ import annotations

import subprocess
import sys

import pytest

CODE = """
import sys
from sdstop.cli.spared import spare
spare()
print(sorted({"platform", "gettext", "locale", "textwrap", "typing_extensions", "urllib.parse"} & set(sys.modules)))
import gettext, platform, textwrap, urllib.parse
print(platform.system(), gettext.gettext("no"), textwrap.dedent(" x"), urllib.parse.quote(" "))
"""
OTHER_VERSION = """
import sys
from sdstop.cli.spared import import_with
import_with("argparse", {"gettext": {}})
import argparse, gettext
print(argparse._ is gettext.gettext)
"""
USED = """
from sdstop.cli.spared import spare
spare()
import argparse, msgspec, pathlib, uuid
class Row(msgspec.Struct):
    '''A row.'''
    name: str
print(msgspec.json.schema(Row)["$defs"]["Row"]["description"], pathlib.Path("/a b").as_uri())
print(argparse.ArgumentParser(prog="p").format_help().split()[0], uuid.UUID(int=1))
"""


@pytest.mark.parametrize(
    ("code", "told"),
    [
        (CODE, "[]\nLinux no x %20\n"),
        (OTHER_VERSION, "True\n"),
        (USED, "A row. file:///a%20b\nusage: 00000000-0000-0000-0000-000000000001\n"),
    ],
)
def test_other_modules_are_as_ever(code: str, told: str) -> None:
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout, result.stderr) == (0, told, "")
