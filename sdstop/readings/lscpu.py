"""Parser for the table of lscpu (util-linux 2.20 to 2.41) in every language that util-linux is translated to.

    Architecture:            x86_64
    CPU(s):                  32
    Thread(s) per core:      2
    Core(s) per socket:      8
    Socket(s):               2
    NUMA node(s):            2
    Model name:              Intel(R) Xeon(R) CPU E5-2620 v4 @ 2.10GHz
    NUMA node0 CPU(s):       0-7,16-23

Labels are translated; the ones below are those of util-linux's catalogs (po/*.po). Lines of NUMA nodes are recognized
by the word NUMA, which no language translates.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from sdstop.core.expression import expression
from sdstop.core.form import Form
from sdstop.core.host import Malformed
from sdstop.core.text import whole

_MODEL = frozenset({
    "Model name", "Název modelu", "Modelnavn", "Modellname", "Nombre del modelo", "Mallinimi", "Nom de modèle",
    "Ime modela", "モデル名", "Modelnaam", "Nazwa modelu", "Nome do modelo", "Имя модели", "Modellnamn", "Modem ismi",
    "Назва моделі", "Tên mô hình", "型号名称",
})  # fmt: skip
_SOCKETS = frozenset({
    "Socket(s)", "Patic", "Sokler", "Sockel", "«Socket(s)»", "CPU podnožja", "ソケット数", "CPU-voeten", "Gniazd",
    "Sockets", "Soquete(s)", "Сокетов", "Uttag", "Soket(ler)", "Сокети", "Số đế cắm", "座",
})  # fmt: skip
_CORES = frozenset({
    "Core(s) per socket", "Jader na patici", "Kerner per sokkel", "Kern(e) pro Sockel", "Núcleo(s) por «socket»",
    "Socket bakoitzeko core kopurua", "Cœur(s) par socket", "Jezgra po podnožju", "Inti setiap soket",
    "ソケットあたりのコア数", "Kernen per voet", "Rdzeni na gniazdo", "Núcleos por socket", "Núcleo(s) por soquete",
    "Ядер на сокет", "Kärn(or) per uttag", "Soket başına çekirdek",  # noqa: RUF001
    "Số lõi mỗi đế cắm", "每个座的核数", "每通訊端核心數",
})  # fmt: skip
_HYPERVISORS = frozenset({
    "KVM", "Xen", "VMware", "Microsoft", "IBM/S390", "pHyp", "bhyve", "Parallels", "oVirt", "hypervisor",
})  # fmt: skip
_LINE = expression(r"\s*(\S[^:\uff1a]{0,60}?)\s*[:\uff1a](?:\s+(.*?))?\s*")
_NODE = expression(r"(?=.*NUMA)(?=\D*(\d{1,4})\D*$).*")
_LIST = expression(r"(?:\d{1,5}(?:-\d{1,5})?(?:,\d{1,5}(?:-\d{1,5})?)*)?")
_MACHINES = r"(?:x86_64|aarch64|ppc64(?:le)?|s390x|i[3-6]86|armv\w{1,4}|riscv64|loongarch64|sparc64|mips64)"


class CpuTable(Struct, frozen=True):
    """Sockets, cores per socket, model, number of NUMA nodes, CPUs by node; None if not shown."""

    sockets: int | None
    cores: int | None
    model: str | None
    nodes: int | None
    cpus: Mapping[int, str]
    virtual: bool = False
    """Whether a hypervisor is shown, by its name or by the processor's flag."""


def parse(text: str) -> CpuTable:
    """Parse the table. Raises Malformed for anything without a known line, such as `lscpu -p` and JSON."""
    said: dict[str, str] = {}
    cpus: dict[int, str] = {}
    nodes = None
    for line in text.splitlines():
        found = _LINE.fullmatch(line)
        if found is None:
            continue
        label, value = found[1].replace("\xa0", " "), found[2] or ""
        if "NUMA" in label:
            node = _NODE.match(label)
            if node is not None and _LIST.fullmatch(value):
                cpus[int(node[1])] = value
            elif node is None and nodes is None:
                nodes = whole(value, 4)
            continue
        said.setdefault(label, value)
    sockets = next((whole(said[label], 4) for label in _SOCKETS if label in said), None)
    cores = next((whole(said[label], 5) for label in _CORES if label in said), None)
    model = next((said[label] for label in _MODEL if label in said), None)
    if sockets is None and model is None and not cpus:
        raise Malformed(f"no table of lscpu: {text.strip()[:60]!r}")
    words = {word for label, value in said.items() if label not in _MODEL for word in value.split()}
    return CpuTable(sockets, cores, model or None, nodes, cpus, not words.isdisjoint(_HYPERVISORS))


def fault(text: str) -> str:
    """Return why a text is not the complete table: it announces the NUMA nodes that follow."""
    try:
        table = parse(text)
    except Malformed:
        return "no table of lscpu"
    if table.nodes is None:
        return "number of NUMA nodes not shown"
    return "" if len(table.cpus) == table.nodes else f"{len(table.cpus)} of {table.nodes} NUMA nodes"


FORM = Form(
    key="cmd:lscpu",
    first=rf"[^\s:\uff1a][^:\uff1a\n]{{2,24}}[:\uff1a] +{_MACHINES}$|CPU\(s\): {{4,}}\d+$",
    reads="processor model, sockets, CPUs of each NUMA node",
    versions="util-linux 2.20 and later, in all languages",
    goes_on=r"(?: {2,}\S[^:]*|Vulnerability [^:]*"
    r"|[^:\uff1a]*NUMA[^:\uff1a]*|[^:\uff1a]*CPU[^:\uff1a]*)[:\uff1a](?: .*)?"
    r"|\S[^:\uff1a]{0,60}[:\uff1a](?: {2,}.*)?",
    fault=fault,
)
