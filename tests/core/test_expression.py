"""Expressions that are compiled at their first use: each of the product's is one."""

import importlib
import pkgutil
import re

import sdstop
from sdstop.core.expression import expression


def test_an_expression_has_the_methods_of_a_compiled_one() -> None:
    found = expression(r"(?P<word>[a-z]+)\d", re.IGNORECASE)
    assert found.fullmatch("A1")
    assert not found.fullmatch("A")
    assert found.findall("a1 b2") == ["a", "b"]
    assert found.sub("", "a1 b2") == " "
    assert (found.pattern, found.groups) == (r"(?P<word>[a-z]+)\d", 1)


def test_equal_expressions_are_one_object() -> None:
    assert expression("same") is expression("same")
    assert expression("same") is not expression("same", re.MULTILINE)
    assert expression(b"same") != expression("same")


def test_every_expression_of_the_product_compiles() -> None:
    compiled = 0
    for module in pkgutil.walk_packages(sdstop.__path__, "sdstop."):
        if not module.name.endswith("__main__"):
            for value in vars(importlib.import_module(module.name)).values():
                if type(value) is type(expression("any")):
                    assert value.groups >= 0  # compiles it
                    compiled += 1
    assert compiled > 50
