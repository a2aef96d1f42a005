"""The samples of a metrics page, as prometheus_client reads them."""

from __future__ import annotations

from prometheus_client.parser import text_string_to_metric_families as parse_text


def samples(page: bytes) -> dict[tuple[str, ...], float]:
    """Return values by name and sorted `label=value`s."""
    found = {}
    for family in parse_text(page.decode()):
        for sample in family.samples:
            key = (sample.name, *(f"{k}={v}" for k, v in sorted(sample.labels.items())))
            assert key not in found
            found[key] = sample.value
    return found
