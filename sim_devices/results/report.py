"""What a run says at its end: a few lines for people, a picture and a page."""

from __future__ import annotations

from pathlib import Path
from textwrap import fill

from sim_devices.results import page, picture
from sim_devices.results.bars import Bar
from sim_devices.results.learned import learned
from sim_devices.results.result import Result
from sim_devices.results.story import percent, story
from sim_devices.results.table import Table, lines

_COLUMNS = 98  # of the text


def write_pictures(results: list[Result], directory: Path, title: str) -> tuple[Path, Path]:
    """A PNG and a self-contained page; their paths."""
    # Among several mechanisms the one with controls is the one that it is about.
    first = next((result for result in results if result.verdict is not None), results[0])
    # Several results stand beside each other, one beside its controls.
    panels = first.panels() if len(results) == 1 else [result.panel for result in results]
    name = first.scenario.geometry.response
    png = picture.draw(panels, directory / "picture.png", title, name)
    html = page.write(
        directory / "page.html",
        page.Page(
            title=title,
            verdict="" if first.verdict is None else first.verdict.sentence,
            panels=panels,
            response=name,
            sections=story(first),
            bars=bars(first),
            notes=[*first.scenario.population.caveats, *first.outcome.subspace.notes],
            learned=learned(first.outcome.task, first.outcome.subspace),
        ),
    )
    return png, html


def bars(result: Result) -> list[Bar]:
    """The controls and, between those that are private and those that are not, the federation."""
    controls = result.beside.controls
    score = result.explained if result.accuracy is None else result.accuracy
    if not controls or score is None:
        return []
    mine = Bar("this federation", score, "federation")
    others = [Bar(control.name, control.score, control.kind) for control in controls]
    private = [bar for bar in others if bar.kind != "open"]
    return [*private, mine, *(bar for bar in others if bar.kind == "open")]


def show(
    results: list[Result], beside: list[Result], png: Path, html: Path, table: Table | None = None
) -> None:
    """Print the result for people, with a table where there is one."""
    for result in results:
        print(f"\n{result.title}")
        if result.verdict is not None:
            print(_wrapped("  ", result.verdict.sentence))
        if table is not None:
            print(f"\n  {table.question}")
            print("\n".join(f" {line}" for line in lines(table)))
        for section in story(result):
            print(f"\n  {section.question}")
            for name, value in section.lines.items():
                print(_wrapped(f"    {name:<16} ", value))
        _show_controls(result)
    print()
    for note in (*results[0].scenario.population.caveats, *results[0].outcome.subspace.notes):
        print(_wrapped("  note: ", note))
    for other in beside:
        score = "" if other.accuracy is None else f": accuracy {percent(other.accuracy)}"
        print(f"  beside it, at delta {other.outcome.task.privacy.delta:.2g}{score}")
    print(f"\n  picture: {png}\n  page:    {html}")


def _wrapped(start: str, text: str) -> str:
    """A text behind its beginning, under which its other lines are indented."""
    further = " " * len(start)
    return fill(text, _COLUMNS, initial_indent=start, subsequent_indent=further)


def _show_controls(result: Result) -> None:
    rows = bars(result)
    if not rows:
        return
    measure = "right" if result.judged is not None else "R^2"
    print(f"\n  What is it compared with? ({measure} on those who took no part)")
    width = max(len(bar.name) for bar in rows) + len("control: ")
    losses = {control.name: control.loss for control in result.beside.controls}
    for bar in rows:
        mark = "=> " if bar.kind == "federation" else "control: "
        loss = losses.get(bar.name, result.loss)
        beside = "" if loss is None else f"   error {loss:.3f}"
        print(f"    {mark + bar.name:<{width}} {percent(bar.share):>6}{beside}")
