"""What all pictures share: the frame of one self-contained HTML page, light or dark as the reader's system is."""

import html
import json
import os
from pathlib import Path


def page(title, body, style="", data=None, script=""):
    """Return a whole HTML page as text; `data` reaches `script` as the constant `data`, and nothing is fetched.

    >>> from tensorgrad.show.page import page
    >>> "<h1>a &lt; b</h1>" in page("a < b", "<p>text</p>")
    True
    """
    if script:
        constant = json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")  # no tag can end the script early
        script = f"<script>const data = {constant};{script}</script>"
    return _FRAME.format(title=html.escape(title), style=_STYLE + style, body=body, script=script)


class Page:
    """What all pictures can do once they say their `html`: be saved, and show themselves in a notebook."""

    height = 600

    def html(self):
        """Return the whole page as text."""
        raise NotImplementedError

    def save(self, path):
        """Write the page to `path` and return the path.

        >>> import os, tempfile
        >>> path = os.path.join(tempfile.mkdtemp(), "loss.html")
        >>> tensorgrad.show.curve([3, 2, 1]).save(path).exists()
        True
        """
        path = Path(os.fspath(path))
        path.write_text(self.html(), encoding="utf-8")
        return path

    def _repr_html_(self):
        """In a notebook: the page in a frame of its own, so that styles do not mix."""
        size = f'width="100%" height="{self.height}" style="border:0"'
        return f'<iframe srcdoc="{html.escape(self.html())}" {size}></iframe>'


def number(value):
    """Return a number, or a tensor of one element, as a float.

    >>> from tensorgrad.show.page import number
    >>> number(torch.tensor(0.5, requires_grad=True))
    0.5
    """
    return float(value.item() if hasattr(value, "item") else value)


def table(facts):
    """Return a two-column HTML table of names and values, or nothing for no facts.

    >>> from tensorgrad.show.page import table
    >>> table({"steps": 3})
    '<table><tr><th>steps</th><td>3</td></tr></table>'
    """
    rows = (
        f"<tr><th>{html.escape(str(name))}</th><td>{html.escape(str(value))}</td></tr>" for name, value in facts.items()
    )
    return f"<table>{''.join(rows)}</table>" if facts else ""


_FRAME = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<main>
<h1>{title}</h1>
{body}
</main>
{script}
</body>
</html>
"""

_STYLE = """
:root { color-scheme: light dark; --paper: #fff; --ink: #1d2430; --faint: #687385; --grid: #e4e8ee; --card: #f4f6f9;
  --c0: #1f6feb; --c1: #d9580d; --c2: #1a8754; --c3: #a03bb5; --c4: #8a6d00; --c5: #c2255c; }
@media (prefers-color-scheme: dark) {
  :root { --paper: #14181f; --ink: #e6eaf0; --faint: #98a3b3; --grid: #2a313c; --card: #1d232d;
    --c0: #6cb0ff; --c1: #ffa15c; --c2: #5cd39a; --c3: #dd9bf0; --c4: #e0c04a; --c5: #ff8fb3; } }
body { margin: 0; background: var(--paper); color: var(--ink); font: 15px/1.5 system-ui, sans-serif; }
main { max-width: 900px; margin: 0 auto; padding: 28px 20px; }
h1 { font-size: 1.35rem; font-weight: 600; margin: 0 0 6px; }
table { border-collapse: collapse; margin: 18px 0 0; }
th, td { text-align: left; padding: 4px 28px 4px 0; border-bottom: 1px solid var(--grid); }
th { font-weight: 400; color: var(--faint); }
td { font-variant-numeric: tabular-nums; }
.note { margin: 4px 0 0; color: var(--faint); font-size: 13px; }
"""
