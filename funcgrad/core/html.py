"""Pieces of HTML for notebooks: plain tables and preformatted text, readable on light and dark pages."""

from collections.abc import Sequence

_CELL = "padding:1px 8px;text-align:right;font-family:monospace;white-space:pre"
_HEAD = _CELL + ";opacity:.55;font-weight:normal"


def escape(plain: str) -> str:
    """Plain text as HTML. (The standard library's function reads a table of all named characters when it is imported.)"""
    return plain.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def pre(html: str) -> str:
    """Preformatted text that is HTML already."""
    return f'<pre style="line-height:1.35;margin:2px 0">{html}</pre>'


def text(plain: str) -> str:
    """Preformatted plain text."""
    return pre(escape(plain))


def faint(html: str) -> str:
    """A part that stands back."""
    return f'<span style="opacity:.6">{html}</span>'


def strong(html: str) -> str:
    """A part that stands out."""
    return f'<b style="color:#2a7fb8">{html}</b>'


def table(columns: Sequence[str], rows: Sequence[tuple[str, Sequence[str]]]) -> str:
    """A table of plain texts, with names for columns and rows."""
    head = "".join([f'<th style="{_HEAD}">{escape(c)}</th>' for c in ("", *columns)])
    body = "".join(
        [
            f'<tr><th style="{_HEAD}">{escape(name)}</th>'
            + "".join([f'<td style="{_CELL}">{escape(cell)}</td>' for cell in cells])
            + "</tr>"
            for name, cells in rows
        ]
    )
    return f'<table style="border-collapse:collapse;margin:2px 0"><tr>{head}</tr>{body}</table>'
