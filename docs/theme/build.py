"""What MkDocs leaves to us: the report's style, scrolling by keyboard, and an index to search without a server."""

import json
import shutil
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

HERE = Path(__file__).parent
EXAMPLES = HERE.parent.parent / "examples"
SHARED = HERE.parent.parent / "src" / "popbandits" / "view" / "page.css"


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Lead links to the examples, which lie beside the docs, to the site's copies of them."""
    return markdown.replace("](../examples/", "](examples/")


def on_files(files: Any, config: Any) -> Any:
    """Add the examples to the site."""
    for path in sorted(EXAMPLES.glob("*.*")):
        files.append(File.generated(config, f"examples/{path.name}", abs_src_path=str(path)))
    return files


def on_page_content(html: str, **_: Any) -> str:
    """Let the keyboard scroll what is wider than the page."""
    html = html.replace("<pre>", '<pre tabindex="0">')
    around = '<div class="wide" tabindex="0" role="region" aria-label="Table">'
    return html.replace("<table>", f"{around}<table>").replace("</table>", "</table></div>")


def on_post_build(config: Any) -> None:
    """Add the style that the report has too, and the index of MkDocs' search as a script."""
    site = Path(config["site_dir"])
    shutil.copyfile(SHARED, site / "page.css")
    searched = json.loads((site / "search" / "search_index.json").read_text(encoding="utf-8"))["docs"]
    parts = [{key: part[key] for key in ("location", "title", "text")} for part in searched]
    (site / "index.js").write_text(f"const SEARCHED = {json.dumps(parts)};\n", encoding="utf-8")
    shutil.rmtree(site / "search")
