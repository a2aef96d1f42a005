"""Credentials: passwords, tokens and keys are removed from evidence entirely, and are not in the map.

Evidence that sdstop reads itself contains none (ensured by answers.py, commands.py and gateway/). A sosreport, pasted
text or a hand-made capture may: `node.session.auth.password = x`, `--password x`, `https://me:x@host`,
`Authorization: Basic x`, keys of Ceph, LUKS, NVMe and DRBD, private keys, hashes of /etc/shadow.
"""

from __future__ import annotations

import binascii
import re
from collections.abc import Iterable
from functools import lru_cache

from msgspec.structs import replace

from sdstop.core.evidence import Evidence, Frame, Outcome, TextBlock
from sdstop.core.expression import expression

REMOVED = "removed"
_WORDS = (
    r"pass(?:w(?:or)?d|phrase)|passwd|pwd|secret|api[_-]?key|access[_-]?key|private[_-]?key|auth[_-]?key"
    r"|credentials?|community|session[_-]?id|token|chap[_-]?\w*pass\w*|psk"
)
_NAME = rf"(?:{_WORDS})(?:s|_in|_out|[_-]?(?:value|text|data|out|in|hash))?"
_PLAIN = r"(?:[^\s,;&\"'}\])<>\\\0]|\\(?![nrt\"]))+"
_VALUE = rf"\\\"(?:(?!\\\")[^\n])*\\\"|\"(?:[^\"\\\n]|\\.)*\"|'[^'\n]*'|(?!(?:true|false|null|none)\b){_PLAIN}"
_KEYS = expression(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL)
_LINES = expression(r"(\\[nrt])")
"""Escaped line ends in a JSON string: the text after them is at the start of a line."""
_WORDS_OF = ("pass", "pwd", "secret", "key", "credential", "community", "session", "token", "psk")


def _rule(signs: str, pattern: str, instead: str, flags: int = 0) -> tuple[tuple[str, ...], re.Pattern[str], str]:
    """Return a rule for one kind of credential: lower-case markers (one must be present), pattern, replacement."""
    return tuple(signs.split()), expression(pattern, flags), instead


_RULES = (
    _rule(
        "authorization",
        r"((?:proxy-)?authorization[\"']?\s*[:=]\s*[\"']?)(?:(?:basic|bearer|digest)\s+)?[^\s\"',;\\]+"
        r"[^\n\"'\\]*",
        rf"\1{REMOVED}",
        re.IGNORECASE,
    ),
    _rule("cookie", r"\b((?:set-)?cookie[\"']?\s*[:=]\s*[\"']?)[^\n\"'\\]+", rf"\1{REMOVED}", re.IGNORECASE),
    _rule("basic bearer", r"\b((?:basic|bearer)\s+)[A-Za-z0-9+/_.=-]{12,}", rf"\1{REMOVED}", re.IGNORECASE),
    _rule("eyj", r"\beyJ[A-Za-z0-9_-]{6,}\.[A-Za-z0-9_-]{6,}(?:\.[A-Za-z0-9_-]*)?", REMOVED),
    _rule("://", r"(?<=://)[^\s/@\"'<>]{1,256}@", f"{REMOVED}@"),
    _rule(
        " ".join(_WORDS_OF),
        rf"((?:^|[\s\0\"'])--?[\w.-]{{0,40}}?{_NAME}[ \0]+)(?!-)[^\s\0\"'\\]+",
        rf"\1{REMOVED}",
        re.IGNORECASE,
    ),
    _rule(
        " ".join(_WORDS_OF),
        rf"((?:^|[\s{{;])[\w-]{{0,40}}?{_NAME}\s+)(\\?\")(?:(?!\\?\")[^\n])*\2",
        rf"\1\2{REMOVED}\2",
        re.IGNORECASE | re.MULTILINE,
    ),
    _rule("mysql", r"(\bmysql\w{0,40}\b[^\n\0]{0,200}?[ \0]-p)[^\s\0]+", rf"\1{REMOVED}"),
    _rule("aq", r"\bAQ[A-Za-z0-9+/]{36,38}={0,2}(?![A-Za-z0-9+/=])", REMOVED),
    _rule("dhhc tlskey", r"\b(?:DHHC-1|NVMeTLSkey-1):\d\d:[A-Za-z0-9+/=]+:?", REMOVED),
    _rule("$", r"(?<![\w$])\$(?:[156y]|2[abxy]|gy|7|sha1|argon2\w*)\$[./A-Za-z0-9$=,+-]{8,}", REMOVED),
    _rule("akia asia", r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b", REMOVED),
    _rule("crypt", r"(\bcrypt [a-z0-9:-]{2,60} )(?!0+ |:)[0-9a-fA-F]{32,}", rf"\g<1>{REMOVED}"),
)
_NAMED = expression(rf"(?P<name>{_NAME}(?P<sign>\\?[\"'])?\s*[:=]\s*)(?P<value>{_VALUE})", re.IGNORECASE)
"""`name = value`, `name: value`, `"name": "value"`."""
_SIGNS_RAW = expression(
    rb"(?:pass|pwd|secret|key|credential|community|session|token|psk|auth|cookie|basic|bearer|eyj|://|aq|dhhc|\$|akia|asia"
    rb"|crypt|mysql)"
)
_CODED_RAW = expression(rb"[A-Za-z0-9+/_-]{20}")
_SHORTEST = 8
"""Bytes of the shortest data that is searched."""
_CODED = expression(r"(?<![A-Za-z0-9+/_=-])[A-Za-z0-9+/_-]{20,2000}={0,2}(?![A-Za-z0-9+/_=-])")
_TOKEN = expression(r"[\w.@-]{1,64}:(?:\d{10,13}:[0-9A-Fa-f]{16,}|\S{6,})")
"""Decoded Base64: a token of ScaleIO's gateway (user, expiry, checksum), or Basic (user and password)."""
_FILES = expression(
    r"(?:environ|g?shadow-?|password(?:_in)?|username(?:_in)?|passwd|dhchap_(?:ctrl_)?secret|tls_key|[\w.-]*keyring[\w.-]*"
    r"|[\w.-]+\.(?:key|pem|pfx|p12|jks)|id_(?:rsa|dsa|ecdsa|ed25519)|\.?pgpass|\.netrc|\.my\.cnf|chap_\w*|authorized_keys)"
)
_LOGIN = expression(r"http(?:-slug)?:[A-Z]+[ _]\S*(?:login|logout|auth|token|session)\S*", re.IGNORECASE)
_KERNEL = ("/sys/", "/proc/", "link:", "list:")
_TEXTS = ("/cmdline", "/environ", "/mounts", "/mountinfo")
TOLD = "a credential: never kept"
_OPTION = expression(
    r"((?:^|\s)--?[\w-]*key[= ]|\b\w*key=|\biscsiadm\b.*?\s(?:-v|--value)[= ]?)(?!-)[^\s\"']+", re.IGNORECASE
)
"""Keys as options: `--key=x`, `securitykey=x`. Any value that iscsiadm sets may be a password."""


def without(text: str) -> str:
    """Return a text with every credential replaced by the word `removed`."""
    if "PRIVATE KEY" in text:
        text = _KEYS.sub(REMOVED, text)
    if "\\" in text:
        return "".join(_line(part) for part in _LINES.split(text))
    return _line(text)


def command(key: str) -> str:
    """Return the key of a command, of its file or of an exchange with every credential replaced."""
    if key.startswith(("cmd:", "slug:")):
        key = _OPTION.sub(rf"\1{REMOVED}", key)
    return without(key) if key.startswith(("cmd:", "slug:", "http", "answer:")) else key


def blocks(given: Iterable[TextBlock]) -> tuple[TextBlock, ...]:
    """Return the blocks of a pasted text without credentials; `frames` gives their evidence the same keys."""
    return tuple(replace(block, key=command(block.key), first=without(block.first)) for block in given)


def _line(text: str) -> str:
    lower = text.lower()
    for signs, pattern, instead in _RULES:
        if any(sign in lower for sign in signs):
            text = pattern.sub(instead, text)
    if any(sign in lower for sign in _WORDS_OF):
        text = _NAMED.sub(_emptied, text)
    return _CODED.sub(_decoded, text)


def _emptied(found: re.Match[str]) -> str:
    """Return the name with its value removed, in the original quotes, so that JSON stays valid."""
    value, sign = found["value"], found["sign"] or ""
    quotes = next((q for q in ('\\"', '"', "'") if value.startswith(q)), sign)
    return f"{found['name']}{quotes}{REMOVED}{quotes}"


def _decoded(found: re.Match[str]) -> str:
    if found[0].islower() or found[0].isupper():
        return found[0]
    coded = found[0].replace("-", "+").replace("_", "/").rstrip("=")
    if coded.isdecimal() or len(coded) % 4 == 1:
        return found[0]
    try:
        plain = binascii.a2b_base64(coded + "=" * (-len(coded) % 4), strict_mode=True)
    except binascii.Error:
        return found[0]
    text = plain.decode("latin-1")
    return REMOVED if text.isascii() and text.isprintable() and _TOKEN.fullmatch(text) else found[0]


def removed(item: Evidence) -> Evidence:
    """Return evidence without credentials; evidence that is only a credential gets the outcome DENIED."""
    key = command(item.key)
    if _is_secret(item.key) or _LOGIN.match(item.key):
        return replace(item, key=key, outcome=Outcome.DENIED, data=b"", stderr=b"", detail=TOLD)
    data, stderr, detail = _bytes(item.data), _bytes(item.stderr), _detail(item.detail)
    if (data, stderr, detail, key) == (item.data, item.stderr, item.detail, item.key):
        return item
    return replace(item, key=key, data=data, stderr=stderr, detail=detail)


def frames(given: Iterable[Frame]) -> list[Frame]:
    """Return frames without credentials; of the kernel's files, only those that may contain one are checked."""
    return [replace(frame, evidence=tuple(map(_cleaned, frame.evidence))) for frame in given]


def _cleaned(item: Evidence) -> Evidence:
    key = item.key
    counts = key.startswith(_KERNEL) and not key.endswith(_TEXTS) and item.outcome is Outcome.OK
    return item if counts and not _is_secret(key) else removed(item)


def _is_secret(key: str) -> bool:
    """Return whether the last part of a path is the name of a file that holds credentials."""
    return "/" in key and _is_secret_name(key.rpartition("/")[2])


@lru_cache(maxsize=1024)
def _is_secret_name(name: str) -> bool:
    """Return whether a file of this name holds credentials; thousands of files have the same few names."""
    return _FILES.fullmatch(name) is not None


@lru_cache(maxsize=256)
def _detail(text: str) -> str:
    """Return a reason without credentials; thousands of files have the same one."""
    return without(text)


def _bytes(data: bytes) -> bytes:
    if len(data) < _SHORTEST or not (_SIGNS_RAW.search(data.lower()) or _CODED_RAW.search(data)):
        return data
    return without(data.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")
