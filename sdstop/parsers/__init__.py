"""Parsers: what one source prints, file or tool, as plain values; pure, and they raise nothing but Malformed."""
